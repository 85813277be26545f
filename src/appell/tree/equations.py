"""`chain.equations()`, `tree.equations()`: Golubev's numbered equations of one system, ready to read and to evaluate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from sympy import Eq, Symbol

from appell.errors import ModelError
from appell.tree import golubev
from appell.tree.frames import Node
from appell.tree.golubev import Base, Body, Hinge, State

# As corrected: the print of (3.11), (4.2), (5.2) and (5.5) is false, which the tests show.
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
    "5.3": r"\psi_\nu=\sum_{\mu\le\nu}\varphi_\mu,\qquad\dot\varphi_\nu=\omega_\nu",
    "5.5": r"\dot q_0=-\tfrac12\,\mathbf q\cdot\boldsymbol\omega,\qquad\dot{\mathbf q}=\tfrac12(q_0\boldsymbol\omega"
    r"+\boldsymbol\omega\times\mathbf q)",
}


@dataclass(frozen=True, eq=False)
class Numbered:
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
    """Golubev's equations, each quantity named once.

    `definitions` give Ω_ν, Ω̇_ν, w_ν, σ_ν … in an order in which each uses earlier ones; `equations` are to be solved
    for `unknowns` (they are linear in them); `simplified` holds (5.1), (5.2) where they apply; `kinematics` (5.3), (5.5).
    Vectors are on axes that translate with the base.
    """

    definitions: tuple[Numbered, ...]
    equations: tuple[Numbered, ...]
    simplified: tuple[Numbered, ...]
    kinematics: tuple[Numbered, ...]
    unknowns: tuple[Symbol, ...]

    @property
    def numbers(self) -> tuple[str, ...]:
        """The numbers of the source's equations that appear, in order."""
        return tuple(dict.fromkeys(item.number for item in (*self.equations, *self.simplified, *self.kinematics)))

    def explicit(self) -> tuple[Eq, ...]:
        """The equations with all definitions put in: long beyond three bodies."""
        values: dict[Any, Any] = {}
        for item in self.definitions:
            values[item.left] = sympy.sympify(item.right).xreplace(values)
        return tuple(
            _numbered("", 0, *(sympy.sympify(side).xreplace(values) for side in (item.left, item.right))).equation
            for item in self.equations
        )

    def residuals(self, values: Mapping[Symbol, float]) -> dict[str, float]:
        """number → largest |left − right| at numbers for every symbol that is not defined."""
        known: dict[Any, Any] = {symbol: sympy.Float(value, 17) for symbol, value in values.items()}
        for item in self.definitions:
            known[item.left] = item.right.xreplace(known)
        result: dict[str, float] = {}
        for item in (*self.equations, *self.simplified):
            gap = abs(float((item.left - item.right).xreplace(known)))
            result[item.number] = max(gap, result.get(item.number, 0.0))
        return result

    def latex(self) -> str:
        """The numbered statements in the notation of the source, corrected."""
        rows = [rf"{STATEMENT[number]} \tag{{{number}}}" for number in self.numbers if number in STATEMENT]
        return "\n".join(rf"\[{row}\]" for row in rows)

    def _repr_latex_(self) -> str:
        return self.latex()


def _numbered(number: str, body: int, left: Any, right: Any) -> Numbered:
    equation: Any = Eq(left, right, evaluate=False)
    return Numbered(number, body, equation)


def bodies_of(nodes: Sequence[Node]) -> list[Body]:
    """The hinged bodies of a tree; other joints are refused by name."""
    bodies = []
    for node in nodes:
        floating = node.kind.name == "floating"
        if not (node.kind.hinge or (floating and node.parent < 0)):
            raise ModelError(
                f"joint '{node.name}' is {node.kind.name}: Golubev's equations are for hinges on a fixed or floating base"
            )
        e = None if floating else node.axis.tolist()
        m, J = node.inertia.m, node.inertia.J.tolist()
        c = (node.inertia.h / m).tolist() if m else [0.0] * 3
        place = node.placement
        bodies.append(Body(node.parent, place.p.tolist(), place.R.tolist(), e, m, c, J))
    return bodies


def equations(bodies: Sequence[Body], gravity: Sequence[Any]) -> GolubevEquations:
    """Golubev's equations of these bodies, with symbols φ_ν, ω_ν, ω̇_ν, M_ν, q, ω, ω̇, w_A."""
    state, unknowns, kinematic = _symbols(bodies, gravity)
    definitions: list[Numbered] = []

    def let(letter: str, index: str, number: str, value: list[Any]) -> list[Any]:
        names = [Symbol(f"{letter}_{index}{axis}", real=True) for axis in "xyz"]
        definitions.extend(_numbered(number, 0, a, b) for a, b in zip(names, value, strict=True))
        return names

    kins = golubev.kinematics(bodies, state, let)
    hinge_number = "3.14" if parallel(bodies) else "4.3"
    found: list[Numbered] = []
    if bodies and bodies[0].e is None:
        for number, build in (("3.10", golubev.momentum_equation), ("3.12", golubev.base_equation)):
            left, right = build(bodies, kins, state.g)
            found += [_numbered(number, 1, a, b) for a, b in zip(left, right, strict=True)]
    hinged = [n for n, body in enumerate(bodies) if body.e is not None]
    for n in hinged:
        found.append(_numbered(hinge_number, n + 1, *golubev.hinge_equation(bodies, kins, state, n)))
    simple = []
    if hinge_number == "3.14" and is_chain(bodies):
        forms = [("5.1", golubev.difference_equation)]
        if all(body.e is not None for body in bodies):  # hinged to the ground: the motion is plane
            forms.append(("5.2", golubev.plane_equation))
        simple = [_numbered(number, n + 1, *form(bodies, kins, state, n)) for number, form in forms for n in hinged]
    return GolubevEquations(tuple(definitions), tuple(found), tuple(simple), tuple(kinematic), tuple(unknowns))


def parallel(bodies: Sequence[Body]) -> bool:
    """Whether all hinge axes are parallel in every position (section 3)."""
    axes = [np.array(body.e, float) for body in bodies if body.e is not None]
    turns = [np.array(body.R0, float) for body in bodies if body.e is not None]
    kept = all(np.allclose(R @ axes[0], axes[0], atol=1e-12) for R in turns)
    return kept and all(np.allclose(axis, axes[0], atol=1e-12) for axis in axes)


def is_chain(bodies: Sequence[Body]) -> bool:
    return all(body.parent == n - 1 for n, body in enumerate(bodies))


def _symbols(bodies: Sequence[Body], gravity: Sequence[Any]) -> tuple[State, list[Symbol], list[Numbered]]:
    real = lambda text: list(sympy.symbols(text, real=True, seq=True))
    base, unknowns, kinematic = None, [], []
    if bodies and bodies[0].e is None:
        quaternion, w = real("q0 q1 q2 q3"), real("omega_x omega_y omega_z")
        wd, wA = real("omegadot_x omegadot_y omegadot_z"), real("wA_x wA_y wA_z")
        base = Base(quaternion, w, wd, wA)
        unknowns += [*wA, *wd]
        rates = golubev.quaternion_rate(quaternion, w)
        dots = real("qdot0 qdot1 qdot2 qdot3")
        kinematic += [_numbered("5.5", 1, a, b) for a, b in zip(dots, rates, strict=True)]
    hinges: list[Hinge | None] = []
    for n, body in enumerate(bodies, start=1):
        if body.e is None:
            hinges.append(None)
            continue
        phi, rate, acceleration, torque, phi_dot = real(f"phi_{n} omega_{n} omegadot_{n} M_{n} phidot_{n}")
        hinges.append(Hinge(sympy.cos(phi / 2), sympy.sin(phi / 2), rate, acceleration, torque))
        unknowns.append(acceleration)
        kinematic.append(_numbered("5.3", n, phi_dot, rate))
    return State(base, hinges, list(gravity)), unknowns, kinematic
