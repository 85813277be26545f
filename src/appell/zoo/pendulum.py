"""Pendulums of one and of any number of links."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from sympy import Add, Expr, Integer, cos, sin

from appell.jets import coordinates, parameters
from appell.model import System
from appell.reading import whole
from appell.scene import Floor, Item, Link, Point, Scene, Trail
from appell.scene.shapes import PALETTE
from appell.zoo.example import Example


def pendulum() -> Example:
    """A mass on a weightless rod:  T = m l²/2 θ̇²,  V = −m g l cos θ,  θ̈ = −(g/l) sin θ.

    θ: angle from the downward vertical (rad). From rest at θ0 the period is 4 √(l/g) K(sin θ0/2).
    """
    theta = coordinates("theta")
    m, l, g = parameters("m l g", positive=True)
    system = System(
        coordinates=[theta],
        kinetic=m * l**2 * theta.d**2 / 2,
        potential=-m * g * l * cos(theta),
        name="pendulum",
    )
    bob = [l * sin(theta), -l * cos(theta)]
    scene = Scene(
        system,
        [
            Floor([0, 0], [0, -1], length=l),
            Link([0, 0], bob, width=5),
            Point([0, 0], hinge=True),
            Trail(bob),
            Point(bob, name="bob"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={m: 1.0, l: 1.0, g: 9.81},
        start={theta: 1.0},
        until=10.0,
        reference="C. Huygens, Horologium Oscillatorium (1673); L. D. Landau and E. M. Lifshitz, Mechanics, §11",
    )


def n_pendulum(n: int = 2, *, symbolic: bool = True) -> Example:
    """A chain of n point masses on weightless rods in a vertical plane.

        ẋ_k = ẋ_{k−1} + l_k θ̇_k cos θ_k,    ẏ_k = ẏ_{k−1} + l_k θ̇_k sin θ_k,    y_k = y_{k−1} − l_k cos θ_k,
        T = Σ m_k (ẋ_k² + ẏ_k²)/2,          V = Σ m_k g y_k.

    θ_k: angle of rod k from the downward vertical (rad), not from the rod before it. Masses m_k and lengths l_k are
    parameters of value 1; with `symbolic=False` they are the number 1 and only g is a parameter.
    """
    n = whole(n, "the number of links n=", 1, 10_000)
    theta = [coordinates(f"theta{k}") for k in range(1, n + 1)]
    g = parameters("g", positive=True)
    names = [f"{letter}{k}" for letter in "ml" for k in range(1, n + 1)]
    symbols = [parameters(name, positive=True) for name in names] if symbolic else []
    values = symbols or [Integer(1)] * (2 * n)
    m, l = values[:n], values[n:]

    xd = yd = y = Integer(0)
    T, V = [], []
    for k in range(n):
        xd = _grown(xd, l[k] * theta[k].d * cos(theta[k]))
        yd = _grown(yd, l[k] * theta[k].d * sin(theta[k]))
        y = _grown(y, -l[k] * cos(theta[k]))
        T.append(m[k] * (xd**2 + yd**2) / 2)
        V.append(m[k] * g * y)
    system = System(coordinates=theta, kinetic=Add(*T), potential=Add(*V), name=f"{n}-link pendulum")
    return Example(
        system=system,
        scene=Scene(system, _chain(theta, l)),
        parameters={g: 9.81, **dict.fromkeys(symbols, 1.0)},
        start={angle: 1.0 for angle in theta},
        until=10.0,
        reference=(
            "J.-L. Lagrange, Mécanique analytique, part 2, section VI; "
            "L. D. Landau and E. M. Lifshitz, Mechanics, §5"
        ),
    )


def _grown(total: Expr, term: Expr) -> Expr:
    """total + term, kept nested: the sum of k terms is a shared part of the next, and T has O(n) nodes, not O(n²)."""
    return term if total == 0 else Add(total, term, evaluate=False)


def _chain(theta: list[Any], l: list[Any]) -> list[Item]:
    """Rods from one mass to the next, and the path of the last."""
    joints: list[list[Any]] = [[Integer(0), Integer(0)]]
    for angle, length in zip(theta, l, strict=True):
        joints.append([joints[-1][0] + length * sin(angle), joints[-1][1] - length * cos(angle)])
    rods = [Link(a, b, width=5, colour=PALETTE[k % 6]) for k, (a, b) in enumerate(pairwise(joints))]
    return [Trail(joints[-1]), Floor([0, 0], [0, -1], length=1), *rods, Point([0, 0], hinge=True), *map(Point, joints[1:])]
