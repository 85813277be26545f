"""One rigid body in free motion by Appell's function: Golubev (2014), sections 1 and 2.

About the centre of mass, and about any other point A of the body with r_c from A to the centre of mass:

    S = ½ m w_c² + ½ ω̇·J_c ω̇ + ω̇·(ω × K_c*)                                                     K_c* = J_c ω   (1.4)
    m w_c = F                       J_c ω̇ + ω × K_c* = M_c                                                      (2.1)

    S = ½ m w_A² + m w_A·(ω̇ × r_c) + m w_A·[ω × (ω × r_c)] + ½ ω̇·J_A ω̇ + ω̇·(ω × K_A*)           K_A* = J_A ω   (1.5)
    m {w_A + ω̇ × r_c + ω × (ω × r_c)} = F       m r_c × w_A + J_A ω̇ + ω × K_A* = M_A                            (2.3)

F is the sum of the forces and M_A that of their moments about the point. Components may be taken on any axes, those of the
body or any Koenig axes: both sides are vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray
from sympy import Eq, Expr, Matrix, Symbol

from appell import letters
from appell.errors import ModelError, SingularConfiguration
from appell.model.attitudes import attitude, vector
from appell.model.bodies import RigidBody
from appell.model.values import bound
from appell.reading import shown
from appell.tree.golubev import golubev_equations as golubev
from appell.tree.inertia import hat, real_vector

Array = NDArray[np.float64]

VECTORS = {
    "1.4": (
        "S = ½ m w_c² + ½ ω̇·J_c ω̇ + ω̇·(ω × K_c*)",
        r"S=\tfrac{m}{2}\mathbf w_c^2+\tfrac12\dot{\boldsymbol\omega}\cdot\mathbf J_c\dot{\boldsymbol\omega}"
        r"+\dot{\boldsymbol\omega}\cdot(\boldsymbol\omega\times\mathbf K_c^*)",
    ),
    "1.5": (
        "S = ½ m w_A² + m w_A·(ω̇ × r_c) + m w_A·[ω × (ω × r_c)] + ½ ω̇·J_A ω̇ + ω̇·(ω × K_A*)",
        r"S=\tfrac{m}{2}\mathbf w_A^2+m\mathbf w_A\cdot(\dot{\boldsymbol\omega}\times\mathbf r_c)+m\mathbf w_A\cdot"
        r"[\boldsymbol\omega\times(\boldsymbol\omega\times\mathbf r_c)]+\tfrac12\dot{\boldsymbol\omega}\cdot\mathbf J_A"
        r"\dot{\boldsymbol\omega}+\dot{\boldsymbol\omega}\cdot(\boldsymbol\omega\times\mathbf K_A^*)",
    ),
    "2.1": (
        "m w_c = F,  J_c ω̇ + ω × K_c* = M_c",
        r"m\mathbf w_c=\mathbf F,\qquad\mathbf J_c\dot{\boldsymbol\omega}+\boldsymbol\omega\times\mathbf K_c^*=\mathbf M_c",
    ),
    "2.3": (
        "m {w_A + ω̇ × r_c + ω × (ω × r_c)} = F,  m r_c × w_A + J_A ω̇ + ω × K_A* = M_A",
        r"m\{\mathbf w_A+\dot{\boldsymbol\omega}\times\mathbf r_c+\boldsymbol\omega\times(\boldsymbol\omega\times"
        r"\mathbf r_c)\}=\mathbf F,\qquad m\mathbf r_c\times\mathbf w_A+\mathbf J_A\dot{\boldsymbol\omega}"
        r"+\boldsymbol\omega\times\mathbf K_A^*=\mathbf M_A",
    ),
}
"""The equations in vectors: text, LaTeX."""


def free_motion(body: RigidBody, r_c: Any = (0, 0, 0), axes: Any = "body") -> FreeBody:
    """A `RigidBody` in free motion about its point A, with Appell's function and equations; see `FreeBody`.

    Parameters
    ----------
    body: its mass and inertia are used, and with axes="space" its orientation. All may contain symbols.
    r_c: from A to the centre of mass, on the body axes, (3,), m. Zero: A is the centre of mass, (1.4) and (2.1).
    axes: of all components: "body"; "space", the inertial ones; or any others, given by the rotation from the body's axes to
    them, as for `RigidBody(orientation=…)`.
    """
    if not isinstance(body, RigidBody):
        raise ModelError(f"free_motion takes a RigidBody, not {type(body).__name__}")
    if isinstance(axes, str) and axes not in ("body", "space"):
        raise ModelError(f"axes={shown(axes)}; choose 'body', 'space', or give a rotation matrix, angles or a quaternion")
    rotations = {"body": sympy.eye(3), "space": body.orientation.rotation}
    R = rotations[axes] if isinstance(axes, str) else attitude(axes).rotation
    return FreeBody(body.mass, body.inertia, vector(r_c, "r_c"), R, body.name)


@dataclass(frozen=True, eq=False)
class FreeBody:
    """A body in free motion; `free_motion(body, …)` makes it.

    Attributes
    ----------
    mass, inertia: m, and J about the centre of mass on the body axes, (3, 3). r_c: from A to the centre of mass, on the
        body axes. rotation: R, components on the body axes → on the chosen axes, (3, 3).
    w, omega, omega_dot, force, moment: symbols of the components, (3,) each, on the chosen axes: acceleration of A,
        angular velocity and acceleration, sum of the forces and of their moments about A.
    definitions: J and r_c on the chosen axes, where these are not the body's.
    """

    mass: Expr
    inertia: Matrix
    r_c: Matrix
    rotation: Matrix
    name: str = "body"

    def __post_init__(self) -> None:
        components = {str(s) for s in (*self.w, *self.omega, *self.omega_dot, *self.force, *self.moment)}
        clashing = sorted(components & {str(s) for s in self.parameters})
        if clashing:
            raise ModelError(f"'{clashing[0]}' is a component of the motion or the force of {self.name}; rename the parameter")

    # --- symbols -------------------------------------------------------------------------------------------------

    @property
    def point(self) -> str:
        """ "c", the centre of mass, or "A"."""
        return "c" if self.r_c.is_zero_matrix else "A"

    @property
    def numbers(self) -> tuple[str, str]:
        """Golubev's numbers of S and of the equations."""
        return ("1.4", "2.1") if self.point == "c" else ("1.5", "2.3")

    @cached_property
    def w(self) -> tuple[Symbol, ...]:
        return _components(f"w_{self.point}")

    @cached_property
    def omega(self) -> tuple[Symbol, ...]:
        return _components("omega_")

    @cached_property
    def omega_dot(self) -> tuple[Symbol, ...]:
        return _components("omegadot_")

    @cached_property
    def force(self) -> tuple[Symbol, ...]:
        return _components("F_")

    @cached_property
    def moment(self) -> tuple[Symbol, ...]:
        return _components("M_")

    @property
    def unknowns(self) -> tuple[Symbol, ...]:
        """w and ω̇, in which S is quadratic."""
        return (*self.w, *self.omega_dot)

    @cached_property
    def parameters(self) -> tuple[Any, ...]:
        """The symbols in mass, inertia, r_c and rotation, by name."""
        symbols = Matrix([self.mass, *self.inertia, *self.r_c, *self.rotation]).free_symbols
        return tuple(sorted(symbols, key=str))

    @cached_property
    def _turned(self) -> tuple[Matrix, Matrix]:
        """(r_c, J about the point) on the chosen axes."""
        r = self.r_c.flat()
        J = Matrix(golubev.steiner(self.mass, r, self.inertia.tolist()))
        return self.rotation * self.r_c, self.rotation * J * self.rotation.T

    @cached_property
    def _names(self) -> tuple[list[Symbol], list[list[Symbol]]]:
        """Symbols for the entries of r_c and J."""
        entry = lambda i, k: Symbol(f"J_{self.point}{'xyz'[min(i, k)]}{'xyz'[max(i, k)]}", real=True)
        return list(_components("r_c")), [[entry(i, k) for k in range(3)] for i in range(3)]

    @cached_property
    def definitions(self) -> dict[Symbol, Expr]:
        """J about the point and r_c on axes other than the body's, one symbol for each entry."""
        if self.rotation == sympy.eye(3):
            return {}
        (r, J), (r_, J_) = self._turned, self._names
        entries: dict[Symbol, Any] = {J_[i][k]: J[i, k] for i in range(3) for k in range(i, 3)}
        entries |= dict(zip(r_, r.flat(), strict=True))
        return {s: value for s, value in entries.items() if not value.is_number}

    @cached_property
    def _on_axes(self) -> tuple[list[Any], list[list[Any]]]:
        """(r_c, J about the point) on the chosen axes, in the names of `definitions`."""
        (r, J), (r_, J_) = self._turned, self._names
        short = lambda name, value: name if name in self.definitions else value
        pairs = zip(J_, J.tolist(), strict=True)
        rows = [[short(name, x) for name, x in zip(names, row, strict=True)] for names, row in pairs]
        return [short(name, x) for name, x in zip(r_, r.flat(), strict=True)], rows

    # --- Appell's function and the equations -----------------------------------------------------------------------

    @cached_property
    def S(self) -> Expr:
        """Appell's function (1.4) or (1.5) in w, ω̇, ω."""
        r, J = self._on_axes
        return self._tidy(golubev.appell_function(self.mass, r, J, list(self.w), list(self.omega), list(self.omega_dot)))

    @cached_property
    def equations(self) -> tuple[Eq, ...]:
        """(2.1) or (2.3), three of forces and three of moments: ∂S/∂w = F, ∂S/∂ω̇ = M."""
        r, J = self._on_axes
        w, Om, Omd = list(self.w), list(self.omega), list(self.omega_dot)
        left = (*golubev.force(self.mass, r, w, Om, Omd), *golubev.moment(self.mass, r, J, w, Om, Omd))
        right = (*self.force, *self.moment)
        return tuple(Eq(self._tidy(a), b, evaluate=False) for a, b in zip(left, right, strict=True))  # type: ignore[misc]

    def _tidy(self, expr: Any) -> Any:
        """A polynomial in the motion with one term for each monomial: (C − B) ω_y ω_z."""
        poly = sympy.Poly(expr, *self.w, *self.omega_dot, *self.omega)
        monomial = lambda powers: sympy.prod(x**n for x, n in zip(poly.gens, powers, strict=True))
        return sympy.Add(*(sympy.factor_terms(k) * monomial(powers) for powers, k in poly.terms()))

    @cached_property
    def kinetic_moment(self) -> tuple[Expr, ...]:
        """K* = J ω about the point, on axes that translate with it, (3,)."""
        return tuple(golubev.apply(self._on_axes[1], self.omega))

    # --- numbers -------------------------------------------------------------------------------------------------

    def with_parameters(self, values: Mapping[Any, Any]) -> FreeBody:
        """The same body with numbers for all its `parameters`, by symbol or name."""
        table = bound(self.parameters, values, self.name, hint="with_parameters({symbol: number, …})")
        numbers = {s: sympy.Float(x, 17) for s, x in table.items()}
        changes = {field: getattr(self, field).xreplace(numbers) for field in ("mass", "inertia", "r_c", "rotation")}
        return replace(self, **changes)

    def acceleration(self, omega: ArrayLike, force: ArrayLike, moment: ArrayLike) -> tuple[Array, Array]:
        """(w, ω̇), (3,) each, from ω, the sum of the forces (N) and of their moments about A (N m): (2.1) or (2.3) solved.

        All on the chosen axes; m/s², rad/s².
        """
        m, r, J = self._numbers
        w, F, M = (real_vector(x, what) for x, what in ((omega, "omega"), (force, "force"), (moment, "moment")))
        K = np.block([[m * np.eye(3), -m * hat(r)], [m * hat(r), J]])
        at_rest = np.concatenate([m * np.cross(w, np.cross(w, r)), np.cross(w, J @ w)])
        try:
            a: Any = np.linalg.solve(K, np.concatenate([F, M]) - at_rest)
        except np.linalg.LinAlgError:
            raise SingularConfiguration(
                f"the mass or the inertia of {self.name} is singular, so its free motion is not determined"
            ) from None
        return a[:3], a[3:]

    def forces(self, omega: ArrayLike, w: ArrayLike, omega_dot: ArrayLike) -> tuple[Array, Array]:
        """(F, M), (3,) each, required for a motion: the left sides of (2.1) or (2.3)."""
        m, r, J = self._numbers
        Om, a, Omd = (real_vector(x, what) for x, what in ((omega, "omega"), (w, "w"), (omega_dot, "omega_dot")))
        F = golubev.force(m, list(r), list(a), list(Om), list(Omd))
        return np.array(F), np.array(golubev.moment(m, list(r), J.tolist(), list(a), list(Om), list(Omd)))

    @cached_property
    def _numbers(self) -> tuple[float, Array, Array]:
        if self.parameters:
            names = ", ".join(map(str, self.parameters))
            raise ModelError(
                f"{self.name} has symbols for {names}; numbers come from "
                f"{self.name}.with_parameters({{{self.parameters[0]}: …}})"
            )
        R = np.array(self.rotation.tolist(), float)
        r = R @ np.array(self.r_c.tolist(), float).ravel()
        J_c = R @ np.array(self.inertia.tolist(), float) @ R.T
        return float(self.mass), r, J_c + float(self.mass) * hat(r) @ hat(r).T

    # --- for people --------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Unicode: S and the equations in vectors, then in components."""
        write = lambda x: letters.text(x, self._motion)
        S, equations = self.numbers
        point = "its centre of mass" if self.point == "c" else "its point A"
        rows = [f"{self.name} in free motion about {point}, Golubev 2014"]
        rows += [f"({number})  {VECTORS[number][0]}" for number in self.numbers]
        rows += [f"       {letters.letter(s)} = {write(value)}" for s, value in self.definitions.items()]
        rows += [f"({S})  S = {write(self.S)}"]
        rows += [f"({equations})  {write(e.lhs)} = {write(e.rhs)}" for e in self.equations]
        return "\n".join(rows)

    def latex(self) -> str:
        """LaTeX: S and the equations in vectors, then in components."""
        write = lambda x: letters.latex(x, self._motion)
        S, equations = self.numbers
        rows = [rf"{VECTORS[number][1]} \tag{{{number}}}" for number in self.numbers]
        rows += [f"{write(s)} = {write(value)}" for s, value in self.definitions.items()]
        rows += [rf"S = {write(self.S)} \tag{{{S}}}"]
        rows += [rf"{write(e.lhs)} = {write(e.rhs)} \tag{{{equations}}}" for e in self.equations]
        return "\n".join(rf"\[{row}\]" for row in rows)

    @cached_property
    def _motion(self) -> frozenset[Symbol]:
        return frozenset((*self.w, *self.omega, *self.omega_dot))

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<FreeBody {self.name}: Golubev {', '.join(f'({n})' for n in self.numbers)}>"

    def _repr_latex_(self) -> str:
        return self.latex()


def _components(letter: str) -> tuple[Symbol, ...]:
    return tuple(Symbol(f"{letter}{axis}", real=True) for axis in "xyz")
