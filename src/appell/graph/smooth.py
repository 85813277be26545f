"""A graph with its derivatives of every order, each again a graph.

    y = f(x)        tangent:  (x, x') → y' = ∂f/∂x x'        transposed:  (x, ȳ) → x̄ᵢ = (∂f/∂xᵢ)ᵀ ȳ

The tangent is jointly linear in all x', and only linear maps are transposed: higher derivatives, forward or reverse, are
tangents and transposes of these. Derivatives are built on demand, and no Jacobian is ever formed: a tangent takes two to three
times the operations of f, for any number of inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import casadi as ca

from appell.graph.algebra import Value, apply, substitute_all, symbols, zeros
from appell.graph.fn import Fn, Port, make_fn
from appell.remember import remembered

Places = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Smooth:
    """`fn` with its derivatives.

    linear: indices of the inputs in which `fn` is jointly linear.
    doubt: a function of the first inputs, 0 or NaN, added to all outputs: where a function has no value it has no derivatives.
    """

    fn: Fn
    linear: Places = ()
    doubt: Fn | None = None

    @remembered
    def tangent(self, moving: Places) -> Smooth:
        """(x_1, …, x_n, x'_i …) → y' with i among `moving`; the other inputs are constant."""
        x, y = self._values()
        xd = [symbols(f"d{i}", x[i].numel()) for i in moving]
        yd = _tangent(y, [x[i] for i in moving], xd)
        ports = [*self.fn.inputs, *(self.fn.inputs[i] for i in moving)]
        last = range(len(x), len(x) + len(moving))
        return self._derived("tangent", [*x, *xd], ports, yd, self.fn.outputs, tuple(last))

    @remembered
    def transposed(self, wanted: Places) -> Smooth:
        """(x_j …, ȳ_1, …, ȳ_m) → x̄_i with i among `wanted` and j those in which `fn` is not linear."""
        x, y = self._values()
        nonlinear = [j for j in range(len(x)) if j not in self.linear]
        bars = [symbols(f"b{k}", value.numel()) for k, value in enumerate(y)]
        x_bar = _transposed(y, [x[i] for i in wanted], bars)
        at_zero = [zeros(x[i].numel()) for i in self.linear]
        x_bar = substitute_all(x_bar, [x[i] for i in self.linear], at_zero)
        ports = [*(self.fn.inputs[j] for j in nonlinear), *self.fn.outputs]
        last = range(len(nonlinear), len(nonlinear) + len(bars))
        outputs = [self.fn.inputs[i] for i in wanted]
        return self._derived("transposed", [*(x[j] for j in nonlinear), *bars], ports, x_bar, outputs, tuple(last))

    def _values(self) -> tuple[list[Value], list[Value]]:
        x = [symbols(f"x{i}", port.size) for i, port in enumerate(self.fn.inputs)]
        return x, list(apply(self.fn, *x).values())

    def _derived(
        self, name: str, x: list[Value], inputs: Sequence[Port], y: list[Value], outputs: Sequence[Port], linear: Places
    ) -> Smooth:
        if self.doubt is not None:
            (doubt,) = apply(self.doubt, *x[: len(self.doubt.inputs)]).values()
            y = [value + doubt for value in y]
        x_ports = {f"x{k}": (value, port.shape) for k, (value, port) in enumerate(zip(x, inputs, strict=True))}
        results = {f"y{k}": (value, port.shape) for k, (value, port) in enumerate(zip(y, outputs, strict=True))}
        return Smooth(make_fn(name, x_ports, results), linear, self.doubt)


def smooth(fn: Fn, keep: str, margin: str) -> Smooth:
    """The output `keep` of `fn`, NaN where its output `margin` is not positive."""
    x = {port.name: symbols(port.name, port.size) for port in fn.inputs}
    out, inputs = apply(fn, *x.values()), {port.name: (x[port.name], port.shape) for port in fn.inputs}
    (port,) = (port for port in fn.outputs if port.name == keep)
    doubt = ca.if_else(out[margin] > 0, Value(0), Value(float("nan")))
    doubts = make_fn("doubt", inputs, {"doubt": (doubt, ())})
    return Smooth(make_fn(fn.name, inputs, {keep: (out[keep] + doubt, port.shape)}), (), doubts)


def _tangent(y: list[Value], x: list[Value], xd: list[Value]) -> list[Value]:
    stacked = ca.jtimes(ca.vertcat(*y), ca.vertcat(*x), ca.vertcat(*xd))
    return _parts(stacked, y)


def _transposed(y: list[Value], x: list[Value], bars: list[Value]) -> list[Value]:
    stacked = ca.jtimes(ca.vertcat(*y), ca.vertcat(*x), ca.vertcat(*bars), True)
    return _parts(stacked, x)


def _parts(stacked: Value, like: list[Value]) -> list[Value]:
    return [stacked[a:b] for a, b in pairwise(accumulate((value.numel() for value in like), initial=0))]


__all__ = ["Smooth", "smooth"]
