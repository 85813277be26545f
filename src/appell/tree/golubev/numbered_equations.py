"""`chain.equations()`, `tree.equations()`: Golubev's numbered equations of one system, ready to read and to evaluate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import sympy
from sympy import Eq, Symbol

from appell import letters
from appell.errors import ModelError
from appell.reading import symbolic
from appell.tree.frames import Node
from appell.tree.golubev import golubev_equations as golubev
from appell.tree.golubev.golubev_equations import Base, Body, ChainState, Hinge, Kin
from appell.tree.golubev.plane import PlaneChain
from appell.tree.golubev.vector_letters import LATEX, TEXT, LetterStyle, VectorEquations, WrittenLine
from appell.tree.inertia import exact

# Corrected: (3.11), (4.2), (5.2) and (5.5) are wrong in print, as the tests show.
STATEMENT = {
    "3.10": r"\sum_\mu m_\mu\boldsymbol\sigma_\mu = \mathbf g\sum_\mu m_\mu",
    "3.12": r"\sum_\mu\Big(\sum_{\tau<\mu}\mathbf r_\tau\times m_\mu\boldsymbol\sigma_\mu+\mathbf c_\mu\times m_\mu"
    r"\mathbf w_\mu+\mathbf J_\mu\dot{\boldsymbol\Omega}_\mu+\boldsymbol\Omega_\mu\times\mathbf K^*_\mu\Big)"
    r"=\sum_\mu m_\mu\Big(\sum_{\tau<\mu}\mathbf r_\tau+\mathbf c_\mu\Big)\times\mathbf g",
    "3.14": r"\mathbf e\cdot\sum_{\mu\ge\nu}\Big[\sum_{\tau=\nu}^{\mu-1}\mathbf r_\tau\times m_\mu\boldsymbol\sigma_\mu"
    r"+m_\mu\mathbf c_\mu\times\mathbf w_\mu+\mathbf J_\mu\dot{\boldsymbol\Omega}_\mu+\boldsymbol\Omega_\mu\times"
    r"\mathbf K^*_\mu\Big]=M_\nu+Q_\nu",
    "4.3": r"\mathbf e_\nu\cdot\sum_{\mu\ge\nu}\Big[\sum_{\tau=\nu}^{\mu-1}\mathbf r_\tau\times m_\mu"
    r"\boldsymbol\sigma_\mu+m_\mu\mathbf c_\mu\times\mathbf w_\mu+\mathbf J_\mu\dot{\boldsymbol\Omega}_\mu"
    r"+\boldsymbol\Omega_\mu\times\mathbf K^*_\mu\Big]=M_\nu+Q_\nu",
    "5.1": r"\mathbf e\cdot\Big(\mathbf J_\nu\dot{\boldsymbol\Omega}_\nu+\boldsymbol\Omega_\nu\times\mathbf K^*_\nu+m_\nu"
    r"\mathbf c_\nu\times\mathbf w_\nu+\mathbf r_\nu\times\sum_{\mu>\nu}m_\mu\boldsymbol\sigma_\mu\Big)"
    r"=M_\nu+Q_\nu-M_{\nu+1}-Q_{\nu+1}",
    "5.2": r"J_{\nu e}\dot\Omega_\nu+\mathbf r_\nu\cdot\Big(\sum_{\mu>\nu}m_\mu\boldsymbol\sigma_\mu\times\mathbf e\Big)"
    r"+\mathbf c_\nu\cdot(m_\nu\mathbf w_\nu\times\mathbf e)=M_\nu+Q_\nu-M_{\nu+1}-Q_{\nu+1}",
    "5.3": r"\psi_\nu=\sum_{\mu\le\nu}\phi_\mu,\qquad\dot\phi_\nu=\omega_\nu",
    "5.4": r"\mathbf x=\mathbf x'+2\cos(\psi_\nu/2)\,\boldsymbol\Psi_\nu\times\mathbf x'+2\boldsymbol\Psi_\nu\times"
    r"(\boldsymbol\Psi_\nu\times\mathbf x'),\qquad\boldsymbol\Psi_\nu=\mathbf e\sin(\psi_\nu/2)",
    "5.5": r"\dot q_0=-\tfrac12\,\mathbf q\cdot\boldsymbol\omega,\qquad\dot{\mathbf q}=\tfrac12(q_0\boldsymbol\omega"
    r"+\boldsymbol\omega\times\mathbf q)",
}

SPATIAL = {
    "5.3": r"\dot\phi_\nu=\omega_\nu",
    "5.4": r"\mathbf x^{\nu-1}=\mathbf x^\nu+2p_\nu\,\boldsymbol\theta_\nu\times\mathbf x^\nu+2\boldsymbol\theta_\nu\times"
    r"(\boldsymbol\theta_\nu\times\mathbf x^\nu),\qquad p_\nu=\cos(\phi_\nu/2),\quad\boldsymbol\theta_\nu=\mathbf e_\nu"
    r"\sin(\phi_\nu/2)",
}
"""Replaces (5.3), (5.4) where the axes are not parallel and angles do not add."""

BODIES_IN_ANGLES = 3
"""Plane chains with up to this many bodies are printed in angles; longer ones in vectors, which keeps the equations short."""

Form = Callable[..., tuple[Any, Any]]
"""Both sides of an equation of one hinge: (bodies, kins, state, n, loads)."""


@dataclass(frozen=True, eq=False)
class NumberedEquation:
    """One of the source's equations for this system: its number, the body it belongs to (0: several), both sides."""

    number: str
    body: int
    equation: Eq

    @property
    def left(self) -> Any:
        return self.equation.lhs

    @property
    def right(self) -> Any:
        return self.equation.rhs


@dataclass(frozen=True, eq=False)
class GolubevEquations:
    """Golubev's equations of one chain or tree, each quantity named once.

    `definitions` give Ω_ν, Ω̇_ν, w_ν, σ_ν … in an order in which each uses earlier ones; `equations` are linear in `unknowns`;
    `simplified` holds (5.1), (5.2) where they apply; `kinematics` (5.3), (5.5). `short` are (3.14) and (5.2) of a plane chain
    on the ground, written with angles as textbooks write them. Vectors are on axes that translate with the base. `print` shows
    all this in vectors, small plane chains in angles. The sums over the bodies behind each hinge, whose terms grow with the
    square of the length, are formed on demand.
    """

    title: str
    bodies: Sequence[Body]
    state: ChainState
    kins: Sequence[Kin]
    motions: tuple[NumberedEquation, ...]  # the definitions of Ω_ν, Ω̇_ν, w_ν, σ_ν … of `kins`
    symbols: ChainSymbols
    aligned: bool  # the hinge axes are parallel in every position

    @property
    def unknowns(self) -> tuple[Symbol, ...]:
        return tuple(self.symbols.unknowns)

    @property
    def kinematics(self) -> tuple[NumberedEquation, ...]:
        return tuple(self.symbols.kinematics)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers of the source's equations that appear, in order."""
        base, hinges = ("3.10", "3.12") if self._floating else (), (self._hinge_number,) if self._hinged else ()
        simple = [number for number, _ in self._differences] if self._hinged else []
        return (*base, *hinges, *simple, *dict.fromkeys(item.number for item in self.kinematics))

    @cached_property
    def definitions(self) -> tuple[NumberedEquation, ...]:
        """The definitions of all named quantities in the equations, Q_ν included."""
        plane = () if self.plane is None else self.plane.definitions()
        return (*self.motions, *self._weights[0], *(_numbered(number, 0, s, value) for number, s, value in plane))

    @cached_property
    def equations(self) -> tuple[NumberedEquation, ...]:
        """(3.10), (3.12) of a floating base, then (3.14) or (4.3) of every hinge."""
        base_rows: list[NumberedEquation] = []
        if self._floating:
            for number, build in (("3.10", golubev.momentum_equation), ("3.12", golubev.base_equation)):
                sides = zip(*build(self.bodies, self.kins, self.state.g), strict=True)
                base_rows += [_numbered(number, 1, left, right) for left, right in sides]
        return (*base_rows, *self._rows(self._hinge_number, golubev.hinge_equation))

    @cached_property
    def simplified(self) -> tuple[NumberedEquation, ...]:
        """(5.1), (5.2) of every hinge, where they apply."""
        return tuple(row for number, form in self._differences for row in self._rows(number, form))

    @cached_property
    def short(self) -> tuple[NumberedEquation, ...]:
        """The equations of a plane chain in angles, else empty; the number of terms grows with the cube of the length."""
        if self.plane is None:
            return ()
        all_bodies = range(len(self.bodies))
        rows = [_numbered("3.14", n + 1, *self.plane.hinge_equation(n)) for n in all_bodies]
        return (*rows, *(_numbered("5.2", n + 1, *self.plane.difference_equation(n)) for n in all_bodies))

    @cached_property
    def plane(self) -> PlaneChain | None:
        """The plane chain, if it is hinged to the ground about parallel axes and the axes of its bodies agree at φ = 0."""
        chained = is_chain(self.bodies) and self.state.together and not self._floating
        return PlaneChain(self.bodies, self.state, self.symbols.phi) if chained else None

    @cached_property
    def motion(self) -> frozenset[Symbol]:
        """The symbols that change with time."""
        return frozenset((*self.symbols.all, *(item.left for item in self.definitions)))

    @property
    def _floating(self) -> bool:
        return self.bodies[0].e is None

    @property
    def _hinged(self) -> list[int]:
        return [n for n, body in enumerate(self.bodies) if body.e is not None]

    @property
    def _hinge_number(self) -> str:
        return "3.14" if self.aligned else "4.3"

    @property
    def _differences(self) -> list[tuple[str, Form]]:
        """(5.1) of chains with parallel axes; (5.2) where they are hinged to the ground: the motion is plane."""
        if not (self.aligned and is_chain(self.bodies)):
            return []
        return [("5.1", golubev.difference_equation), ("5.2", golubev.plane_equation)][: 1 if self._floating else 2]

    @cached_property
    def _weights(self) -> tuple[list[NumberedEquation], list[Any]]:
        """The definitions of Q_ν, and M_ν + Q_ν."""
        definitions: list[NumberedEquation] = []
        number, torque = "3.8" if self.aligned else "4.2", partial(golubev.gravity_torque, self.bodies, self.kins, self.state)
        weight = lambda n: _named(definitions, number, f"Q_{n + 1}", torque(n))
        return definitions, [0 if hinge is None else hinge.torque + weight(n) for n, hinge in enumerate(self.state.hinges)]

    def _rows(self, number: str, form: Form) -> list[NumberedEquation]:
        loads = self._weights[1]
        return [_numbered(number, n + 1, *form(self.bodies, self.kins, self.state, n, loads)) for n in self._hinged]

    def write(self, style: LetterStyle) -> VectorEquations:
        """The equations in vectors, to be written in a given style."""
        return VectorEquations(self.bodies, self.state.g, self.aligned, is_chain(self.bodies), style)

    def explicit(self) -> tuple[Eq, ...]:
        """The equations with all definitions substituted: short for plane chains, otherwise long beyond three bodies."""
        values: dict[Any, Any] = {}
        for item in self.definitions:
            values[item.left] = symbolic(item.right, "a side").xreplace(values)
        chosen = [item for item in self.short if item.number == "3.14"] or self.equations
        return tuple(
            _numbered("", 0, *(symbolic(side, "a side").xreplace(values) for side in (item.left, item.right))).equation
            for item in chosen
        )

    def residuals(self, values: Mapping[Symbol, float]) -> dict[str, float]:
        """number → largest |left − right|, given numbers for every symbol that is not defined."""
        known: dict[Any, Any] = {symbol: sympy.Float(value, 17) for symbol, value in values.items()}
        for item in self.definitions:
            known[item.left] = item.right.xreplace(known)
        result: dict[str, float] = {}
        for item in (*self.equations, *self.simplified, *self.short):
            gap = abs(float((item.left - item.right).xreplace(known)))
            result[item.number] = max(gap, result.get(item.number, 0.0))
        return result

    def statements(self) -> str:
        """LaTeX of the numbered equations for any chain, with sums, as the source writes them, corrected."""
        meaning = STATEMENT | (SPATIAL if "4.3" in self.numbers else {})
        numbers = {*self.numbers, "5.4"} if "5.3" in self.numbers else {*self.numbers}
        rows = [rf"{meaning[number]} \tag{{{number}}}" for number in STATEMENT if number in numbers]
        return "\n".join(rf"\[{row}\]" for row in rows)

    def latex(self) -> str:
        """The statements, then the equations of this system: those of a small plane chain in angles, else in vectors."""
        tagged = [rf"{line} \tag{{{number}}}" if number else line for number, line in self._lines(LATEX)]
        return "\n".join([self.statements(), *(rf"\[{line}\]" for line in tagged)])

    def text(self) -> str:
        """The equations of this system, numbered, in Unicode."""
        lines = self._lines(TEXT)
        width = max(len(number) for number, _ in lines) + 4
        label = lambda number: f"({number})".ljust(width) if number else " " * width
        rows = [label(number) + line.replace(" - ", " − ").replace("= -", "= −") for number, line in lines]
        return "\n".join([f"{self.title}, Golubev 2014", *rows])

    def _lines(self, style: LetterStyle) -> list[WrittenLine]:
        if self.plane is None or len(self.plane.bodies) > BODIES_IN_ANGLES:
            return list(self.write(style).lines())
        to = letters.text if style is TEXT else letters.latex
        show = lambda item: f"{to(item.left, self.motion)} = {to(item.right, self.motion)}"
        extra = [item for item in self.definitions if item.number in ("3.1", "3.2")]
        rows = [(item.number, show(item)) for item in (*self.short, *extra, *self.kinematics)]
        return [("5.1, 5.2" if number == "5.2" else number, line) for number, line in rows]

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<GolubevEquations of {self.title}: {', '.join(f'({number})' for number in self.numbers)}>"

    def _repr_latex_(self) -> str:
        return self.latex()


def _numbered(number: str, body: int, left: Any, right: Any) -> NumberedEquation:
    equation: Any = Eq(left, right, evaluate=False)
    return NumberedEquation(number, body, equation)


def bodies_of(nodes: Sequence[Node]) -> list[Body]:
    """The hinged bodies of a tree; other joints raise with their name."""
    bodies = []
    for node in nodes:
        floating = node.kind.free
        if not (node.kind.hinge or (floating and node.parent < 0)):
            raise ModelError(
                f"joint '{node.name}' is {node.kind.name}: Golubev's equations are for hinges on a fixed or floating base"
            )
        if floating and any(x != 0 for x in (*node.armature, *node.damping)):
            raise ModelError(f"joint '{node.name}' floats and has armature or damping, which Golubev's equations do not know")
        e = None if floating else node.axis.tolist()
        m, J = node.inertia.m, node.inertia.J.tolist()
        c = (node.inertia.h / m).tolist() if m else [0.0] * 3
        placement = node.placement
        bodies.append(
            Body(node.parent, placement.p.tolist(), placement.R.tolist(), e, m, c, J, node.armature[0], node.damping[0])
        )
    return bodies


def equations(bodies: Sequence[Body], gravity: Sequence[Any], title: str = "tree") -> GolubevEquations:
    """Golubev's equations of these bodies, with symbols φ_ν, ω_ν, ω̇_ν, M_ν, q, ω, ω̇, w_A."""
    if not bodies:
        raise ModelError(f"nothing moves in {title}: every joint is fixed")
    bodies, g = [_exact(body) for body in bodies], [exact(x, "gravity") for x in gravity]
    aligned = parallel(bodies)
    state, symbols = _symbols(bodies, g, together=aligned and _unturned(bodies))
    definitions: list[NumberedEquation] = []

    def let(letter: str, index: str, number: str, value: list[Any]) -> list[Any]:
        return [_named(definitions, number, f"{letter}_{index}{axis}", x) for axis, x in zip("xyz", value, strict=True)]

    kins = golubev.kinematics(bodies, state, let)
    result = GolubevEquations(title, bodies, state, kins, tuple(definitions), symbols, aligned)
    weights = [Symbol(f"Q_{n + 1}", real=True) for n in range(len(bodies))] if any(x != 0 for x in g) else []
    plane = [symbol for _, symbol, _ in result.plane.definitions()] if result.plane else []
    _refuse_taken(bodies, g, [*symbols.all, *(item.left for item in definitions), *weights, *plane])
    return result


def _named(definitions: list[NumberedEquation], number: str, name: str, value: Any) -> Any:
    """A symbol for a value, with its definition recorded; 0, ±1, symbols and cos φ need no name."""
    value = symbolic(value, "a value")
    positive = -value if value.could_extract_minus_sign() else value
    if positive in (0, 1) or positive.is_Symbol or positive.is_Function:
        return value
    symbol = Symbol(name, real=True)
    definitions.append(_numbered(number, 0, symbol, value))
    return symbol


def _exact(body: Body) -> Body:
    """The body with 1.0 and 0.0 written as 1 and 0."""
    entry = lambda x: exact(x, "a body")
    row = lambda values: [entry(x) for x in values]
    return Body(
        body.parent, row(body.r), [row(x) for x in body.R0], None if body.e is None else row(body.e), entry(body.m),
        row(body.c), [row(x) for x in body.J], entry(body.armature), entry(body.damping),
    )  # fmt: skip


def _refuse_taken(bodies: Sequence[Body], gravity: Sequence[Any], symbols: Sequence[Symbol]) -> None:
    """Raises if a parameter has the name of a quantity in the equations."""
    numbers_of = lambda b: (b.m, b.armature, b.damping, *b.c, *b.r, *(b.e or ()), *(x for row in b.J for x in row))
    entries = [x for body in bodies for x in numbers_of(body)]
    names = {str(s) for x in (*entries, *gravity) for s in symbolic(x, "a value").free_symbols}
    clashing = sorted(names & {str(s) for s in symbols})
    if clashing:
        raise ModelError(f"'{clashing[0]}' is a quantity of Golubev's equations; give the parameter another name")


def parallel(bodies: Sequence[Body]) -> bool:
    """Whether all hinge axes are parallel in every position (section 3)."""
    axes = [body.e for body in bodies if body.e is not None]
    turned = [golubev.apply(body.R0, body.e) for body in bodies if body.e is not None]
    return all(_same(axis, axes[0]) for axis in (*axes, *turned))


def _unturned(bodies: Sequence[Body]) -> bool:
    """Whether the axes of each body agree with its predecessor's at φ = 0."""
    return all(_same(row, unit) for body in bodies for row, unit in zip(body.R0, np.eye(3).tolist(), strict=True))


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    gaps = [symbolic(x - y, "a gap") for x, y in zip(a, b, strict=True)]
    return all(abs(gap) < 1e-12 if gap.is_number else sympy.simplify(gap) == 0 for gap in gaps)


def is_chain(bodies: Sequence[Body]) -> bool:
    return all(body.parent == n - 1 for n, body in enumerate(bodies))


@dataclass(frozen=True, eq=False)
class ChainSymbols:
    """Symbols of the motion: angles, everything, unknowns, and (5.3), (5.5)."""

    phi: list[Symbol]
    all: list[Symbol]
    unknowns: list[Symbol]
    kinematics: list[NumberedEquation]


def _symbols(bodies: Sequence[Body], gravity: Sequence[Any], together: bool) -> tuple[ChainState, ChainSymbols]:
    real = lambda text: list(sympy.symbols(text, real=True, seq=True))
    base, symbols = None, ChainSymbols([], [], [], [])
    if bodies[0].e is None:
        quaternion, w = real("q0 q1 q2 q3"), real("omega_x omega_y omega_z")
        wd, wA = real("omegadot_x omegadot_y omegadot_z"), real("wA_x wA_y wA_z")
        base = Base(quaternion, w, wd, wA)
        rates, dots = golubev.quaternion_rate(quaternion, w), real("qdot0 qdot1 qdot2 qdot3")
        symbols.unknowns.extend((*wA, *wd))
        symbols.all.extend((*quaternion, *w, *wd, *wA, *dots))
        symbols.kinematics.extend(_numbered("5.5", 1, a, b) for a, b in zip(dots, rates, strict=True))
    hinges: list[Hinge | None] = []
    psi: list[Any] = []
    for n, body in enumerate(bodies, start=1):
        if body.e is None:
            hinges.append(None)
            psi.append(sympy.Integer(0))
            continue
        phi, rate, acceleration, torque, phi_dot = real(f"phi_{n} omega_{n} omegadot_{n} M_{n} phidot_{n}")
        psi.append(phi + (psi[body.parent] if body.parent >= 0 else 0))
        angle = psi[-1] if together else phi
        net_torque = torque - body.damping * rate - body.armature * acceleration
        hinges.append(Hinge(sympy.cos(angle), sympy.sin(angle), rate, acceleration, net_torque))
        symbols.phi.append(phi)
        symbols.all.extend((phi, rate, acceleration, torque, phi_dot))
        symbols.unknowns.append(acceleration)
        symbols.kinematics.append(_numbered("5.3", n, phi_dot, rate))
    return ChainState(base, hinges, gravity, together), symbols
