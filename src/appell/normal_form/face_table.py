"""The faces of a system as tables: one function for all faces of the same form.

    face k        x_k = s[inputs_k], c_k        y = shape(x, c) = (g, size, ġ, g̈ at a = 0, e, n)        s = (t, z, p)

Fifty discs in a box have 1,425 faces and five shapes. Two faces have the same shape if their expressions differ only in numbers
and in which coordinates and parameters they contain; a coordinate whose rate is not its own velocity (of a quaternion, say)
matches only itself. n = ∂ġ/∂v has a few entries, in the columns `columns_k` of v. `gap` is only g, with its rate along any
motion of its inputs: (x, ẋ, c) → (g, ∂g/∂x·ẋ); `gap_second` continues it: (x, ẋ, ẍ, c) → (g, ġ, g̈).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Dummy, Symbol

from appell.graph import Fn, make_fn
from appell.graph.algebra import Value, column, derivative_along, jacobian, pattern, symbols, used, zeros
from appell.model import System
from appell.model.outline import Outline, with_letters_for_numbers
from appell.model.unilateral import Face
from appell.normal_form.normal_form import NormalForm

Array = NDArray[np.float64]
Table = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Shape:
    """`fn`: x (nx,), c (nc,) → y (5 + nn,), `gap`: x (ng,), xd (ng,), c (nc,) → y (2,), `gap_second`: x, xd, xdd (ng,),
    c → y (3,); each face has a row of every table."""

    fn: Fn
    faces: Table  # (k,) indices of the faces
    inputs: Table  # (k, nx) indices in s
    constants: Array  # (k, nc)
    columns: Table  # (k, nn) indices in v
    gap: Fn
    gap_second: Fn
    gap_inputs: Table  # (k, ng) indices in s


@dataclass(frozen=True, eq=False)
class FaceTable:
    """The shapes of a system's faces. z = (q, v, …) has nz entries."""

    shapes: tuple[Shape, ...]
    count: int
    nq: int
    nv: int
    nz: int
    np: int

    @cached_property
    def width(self) -> int:
        """The largest number of entries of a normal."""
        return max((shape.columns.shape[1] for shape in self.shapes), default=0)

    @cached_property
    def shape_and_row(self) -> list[tuple[int, int]]:
        """face → (shape, row of its tables)."""
        place_of = {int(face): (k, j) for k, shape in enumerate(self.shapes) for j, face in enumerate(shape.faces)}
        return [place_of[face] for face in range(self.count)]


def face_table(system: System, form: NormalForm, nz: int) -> FaceTable:
    """The faces of a system, grouped by shape; nz is the length of the state (q, v, …)."""
    velocities = set(system.velocities)
    plain = {q: rate for q, rate in system.rates.items() if rate in velocities}
    by_shape: dict[Any, list[tuple[int, Outline]]] = {}
    for k, face in enumerate(system.unilateral):
        outline = Outline.of(face.function, face.restitution, alike=plain)
        by_shape.setdefault(outline.key, []).append((k, outline))
    indices = _SymbolIndices(system, form, nz, plain)
    shapes = tuple(
        _shape(f"shape{i}", form, indices, members, system.unilateral) for i, members in enumerate(by_shape.values())
    )
    return FaceTable(shapes, len(system.unilateral), form.nq, form.nv, nz, len(system.parameters))


class _SymbolIndices:
    """Indices of the symbols of a system in q, v, p and in s = (t, z, p)."""

    def __init__(self, system: System, form: NormalForm, nz: int, plain: dict[Any, Any]):
        self.q = {s: i for i, s in enumerate(system.positions)}
        v = {s: i for i, s in enumerate(system.velocities)}
        self.rate = {q: v[rate] for q, rate in plain.items()}  # the index of q̇ in v
        self.p = {s: i for i, s in enumerate(system.parameters)}
        self.first = {"t": 0, "q": 1, "v": 1 + form.nq, "p": 1 + nz}


def _shape(
    name: str, form: NormalForm, indices: _SymbolIndices, members: list[tuple[int, Outline]], faces: tuple[Face, ...]
) -> Shape:
    first_face, outline = members[0]
    c = symbols("c", len(outline.numbers))
    face = faces[first_face]
    letters: list[Symbol] = []

    def letter(_: float) -> Symbol:
        letters.append(Dummy(real=True))
        return letters[-1]

    function, restitution = (with_letters_for_numbers(e, letter) for e in (face.function, face.restitution))
    form.lower.bind({s: c[k] for k, s in enumerate(letters)})
    y, n_places = _outputs(form, function, restitution)
    t, q, v, p = (form.inputs[x] for x in "tqvp")
    x_places = [(kind, i) for kind, values in (("t", t), ("q", q), ("v", v), ("p", p)) for i in used(y, values)]
    x = column(*(form.inputs[kind][i] for kind, i in x_places)) if x_places else zeros(0)
    fn = make_fn(name, {"x": (x, (len(x_places),)), "c": (c, (len(letters),))}, {"y": (y, (y.numel(),))})
    gap, gap_second, g_places = _gap(f"gap_{name}", form, y[0], c)
    inputs, columns, gap_inputs = [], [], []
    for _, other in members:
        counterpart = _counterparts(indices, outline, other)
        inputs.append([indices.first[kind] + counterpart[kind].get(i, i) for kind, i in x_places])
        gap_inputs.append([indices.first[kind] + counterpart[kind].get(i, i) for kind, i in g_places])
        columns.append([counterpart["v"].get(i, i) for i in n_places])
    return Shape(
        fn,
        np.array([k for k, _ in members], dtype=np.int32),
        np.array(inputs, dtype=np.int32).reshape(len(members), len(x_places)),
        np.array([member.numbers for _, member in members], dtype=float).reshape(len(members), len(letters)),
        np.array(columns, dtype=np.int32).reshape(len(members), len(n_places)),
        gap,
        gap_second,
        np.array(gap_inputs, dtype=np.int32).reshape(len(members), len(g_places)),
    )


def _gap(name: str, form: NormalForm, g: Value, c: Value) -> tuple[Fn, Fn, list[tuple[str, int]]]:
    """(x, ẋ, c) → (g, ġ) and (x, ẋ, ẍ, c) → (g, ġ, g̈), and the indices of x in t, q, p."""
    places = [(kind, i) for kind in "tqp" for i in used(g, form.inputs[kind])]
    n = len(places)
    x = column(*(form.inputs[kind][i] for kind, i in places)) if places else zeros(0)
    xd, xdd = symbols("xd", n), symbols("xdd", n)
    rate = derivative_along(g, [x], [xd]) if places else zeros(1)
    second = derivative_along(rate, [x, xd], [xd, xdd]) if places else zeros(1)
    ports = {"x": (x, (n,)), "xd": (xd, (n,)), "xdd": (xdd, (n,)), "c": (c, (c.numel(),))}
    first_order = {key: port for key, port in ports.items() if key != "xdd"}
    gap = make_fn(name, first_order, {"y": (column(g, rate), (2,))})
    return gap, make_fn(f"{name}_second", ports, {"y": (column(g, rate, second), (3,))}), places


def _counterparts(indices: _SymbolIndices, a_face: Outline, b_face: Outline) -> dict[str, dict[int, int]]:
    """Indices in one face → the corresponding indices in another of the same shape."""
    pairs = lambda table, a, b: {table[x]: table[y] for x, y in zip(a, b, strict=True)}
    return {
        "t": {},
        "q": pairs(indices.q, a_face.coordinates, b_face.coordinates),
        "v": pairs(indices.rate, a_face.coordinates, b_face.coordinates),
        "p": pairs(indices.p, a_face.parameters, b_face.parameters),
    }


def _outputs(form: NormalForm, function: Any, restitution: Any) -> tuple[Value, list[int]]:
    """y of a face, with size = Σ|terms of g| + Σ|∂g/∂q·q| + |∂g/∂t·t|, and the indices in v of the entries of n."""
    t, q, v, qd = form.inputs["t"], form.inputs["q"], form.inputs["v"], form["qd"]
    drift = lambda y: derivative_along(y, [t, q], [1, qd])
    g = form.lower(function)
    g_d = drift(g)
    slopes, n = jacobian(g, column(t, q)), jacobian(g_d, v)
    size = sum((abs(form.lower(term)) for term in sympy.Add.make_args(function)), Value(0))
    z = column(t, q)
    size += sum((abs(slopes[0, j] * z[j]) for _, j in pattern(slopes)), Value(0))
    places = sorted(j for _, j in pattern(n))
    entries = [n[0, j] for j in places]
    return column(g, size, g_d, drift(g_d), form.lower(restitution), *entries), places
