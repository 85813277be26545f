"""The single-body joint tests of MSC ADAMS that come with Project Chrono, modelled with `RigidBody` and `Constraint`.

A body with centre of mass r and attitude R (a unit quaternion, ω on the body axes) hangs on the ground at p by one joint:

    d = r + R s − p          from the point p of the ground to the point s of the body
    e_x, e_y, e_z            axes of the joint, fixed in the ground
    b_x, b_y, b_z            the same axes at t = 0, fixed in the body and carried by R

and a joint is a list of residuals d·e_i, b_i·e_j, (d·d − l²)/2. Gravity is the only potential, so

    (F, τ) = W Λ + Q         over (ẋ, ẏ, ż | ω), Q the forces of springs and dampers,

is everything that the joint exerts on the body: a force, and on the body axes a torque about the centre of mass. The ground
gets −F and, about p, −(R τ + (r − p) × F).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sympy import Abs, Expr, Matrix, atan2, sqrt

import appell as ap

Array = NDArray[np.float64]

QUANTITIES = ("Pos", "Vel", "Acc", "Quat", "Avel", "Aacc", "Rforce", "Rtorque")

# -- the files --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One file: the set-up, the samples (k, 3) or (k, 4) on inertial axes, and the bound of each quantity."""

    name: str
    setup: Mapping
    t: Array
    expected: Mapping[str, Array]
    bound: Mapping[str, float]

    @property
    def family(self) -> str:
        """Which of `FAMILIES` it belongs to."""
        return self.name.split("_")[0]


def load(path: Path) -> Case:
    """Read a case.

    `RotSpring` has no bound for the torque: what it lists is the torque of the spring, k θ + k_n |θ| θ + c θ̇. With |θ| < 1 and
    |Δθ| ≤ 2 |Δquaternion| ≤ 4 max |its entries| the bound follows from those of attitude and angular velocity.
    """
    data = json.loads(path.read_text())
    expected = {name: np.array(values, dtype=float) for name, values in data["expected"].items()}
    bound, spring = dict(data["tolerance"]["abs"]), data["parameters"].get("spring")
    if bound["Rtorque"] is None:
        bound["Rtorque"] = (spring["k"] + 2 * spring["kn"]) * 4 * bound["Quat"] + spring["c"] * bound["Avel"]
    return Case(path.stem, data["parameters"], expected.pop("t"), expected, bound)


# -- the models -------------------------------------------------------------------------------------------------------------

X = Matrix(ap.coordinates("x y z"))
ball = ap.quaternion("b")
R, omega = ball.rotation, ball.rotation * Matrix(ball.rates)
m, g, l = ap.parameters("m g l", positive=True)
k, k_n, c = ap.parameters("k k_n c", nonnegative=True)
J = ap.parameters("J_x J_y J_z", positive=True)
p, s = Matrix(ap.parameters("p_x p_y p_z")), Matrix(ap.parameters("s_x s_y s_z"))
ground = Matrix(3, 3, ap.parameters([f"e_{i}{j}" for i in "xyz" for j in "xyz"]))
carried = Matrix(3, 3, ap.parameters([f"b_{i}{j}" for i in "xyz" for j in "xyz"]))
e = {axis: ground.col(i) for i, axis in enumerate("xyz")}
b = {axis: R * carried.col(i) for i, axis in enumerate("xyz")}

d = X + R * s - p
body = ap.RigidBody(m, J, X, ball)


def joint(points: str, squares: str = "") -> list[ap.Constraint]:
    """d·e_i = 0 for each axis i of `points`, b_i·e_j = 0 for each pair ij of `squares`."""
    rows = [ap.Constraint(d.dot(e[i]), name=f"d {i}") for i in points]
    return rows + [ap.Constraint(b[i].dot(e[j]), name=f"{i} square to {j}") for i, j in squares.split()]


def law(stretch: Expr, rate: Expr) -> Expr:
    """k δ + k_n |δ| δ + c δ̇, the pull of a spring with a damper."""
    return k * stretch + k_n * Abs(stretch) * stretch + c * rate


def spring() -> list[ap.Force]:
    """A spring of free length l along d."""
    length = sqrt(d.dot(d))
    n = d / length
    return [ap.Force(-law(length - l, n.dot(ap.total_derivative(d))) * n, at=X + R * s)]


def turning_spring() -> list[ap.Torque]:
    """A spring about e_z; θ is the turn of b_x from e_x."""
    turn = atan2(b["x"].dot(e["y"]), b["x"].dot(e["x"]))
    return [ap.Torque(-law(turn, omega.dot(e["z"])) * e["z"], on=body)]


RIGID_LINK = ap.Constraint((d.dot(d) - l**2) / 2, name="length")

FAMILIES: dict[str, tuple[list[ap.Constraint], Callable[[], list]]] = {
    "Revolute":     (joint("xyz", "zx zy"),      list),
    "Spherical":    (joint("xyz"),               list),
    "Prismatic":    (joint("xy", "zx zy xy"),    list),
    "Cylindrical":  (joint("xy", "zx zy"),       list),
    "Universal":    (joint("xyz", "yx"),         list),
    "Distance":     ([RIGID_LINK],               list),
    "RevSpherical": ([RIGID_LINK, *joint("z")],  list),
    "TranSpring":   ([],                         spring),
    "TranSpringCB": ([],                         spring),
    "RotSpring":    (joint("xyz", "zx zy"),      turning_spring),
}  # fmt: skip
"""Family of the files → constraints and loads. The link of `RevSpherical` has no mass and turns about e_z."""


@cache
def system(family: str) -> ap.System:
    constraints, loads = FAMILIES[family]
    return ap.System(
        coordinates=[*X, ball],
        bodies=[body],
        potential=m * g * X[2],
        constraints=constraints,
        loads=loads(),
        name=family,
    )


# -- numbers ----------------------------------------------------------------------------------------------------------------


def rotation(quaternion: Array) -> Array:
    """R, (…, 3, 3), of unit quaternions (w, x, y, z), (…, 4)."""
    w, x, y, z = np.moveaxis(np.asarray(quaternion, dtype=float), -1, 0)
    rows = [
        [1 - 2 * (y**2 + z**2), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x**2 + z**2), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x**2 + y**2)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def _axes(setup: Mapping) -> Array:
    """Columns e_x, e_y, e_z; the axis of a revolute-spherical link is said by itself and only e_z matters."""
    if "revolute_axis" not in setup:
        return rotation(setup["joint_frame_quaternion_wxyz"])
    axis = np.array(setup["revolute_axis"], dtype=float)
    return np.outer(axis / np.linalg.norm(axis), [0, 0, 1])


def parameters(case: Case) -> dict:
    """Values of the parameters of the model of a case."""
    setup, R0 = case.setup, rotation(case.setup["body_quaternion_t0_wxyz"])
    place = np.array(setup["joint_location"], dtype=float)
    attached = np.array(setup.get("attachment_on_pendulum_global_t0", place), dtype=float)
    axes, pull = _axes(setup), setup.get("spring", {"k": 0, "kn": 0, "c": 0})
    values = {m: setup["mass"], g: -setup["g"][2], l: 2.0, k: pull["k"], k_n: pull["kn"], c: pull["c"]}
    values |= dict(zip(J, setup["inertia_body_principal"], strict=True))
    for symbols, numbers in (
        (p, place),
        (s, R0.T @ (attached - setup["body_com_t0"])),
        (ground, axes),
        (carried, R0.T @ axes),
    ):
        values |= dict(zip(symbols, np.ravel(numbers), strict=True))
    return {symbol: values[symbol] for symbol in system(case.family).parameters}


def move(case: Case) -> ap.Motion:
    """The motion from rest, at the times of the file."""
    w, *xyz = case.setup["body_quaternion_t0_wxyz"]
    start = dict(zip((*X, *ball.coordinates), (*case.setup["body_com_t0"], *xyz, w), strict=True))
    return ap.simulate(
        system(case.family), start, case.t[-1], parameters(case), times=case.t, rtol=1e-11, atol=1e-13
    )  # fmt: skip


def measured(motion: ap.Motion) -> dict[str, Array]:
    """The quantities of the files along a motion, on inertial axes; the reactions are those on the ground at p."""
    r, xyzw = motion.q[:, :3], motion.q[:, 3:]
    quaternion = np.roll(xyzw, 1, axis=1)
    turned = lambda vectors: np.einsum("kij,kj->ki", rotation(quaternion), vectors)
    out = motion.run.evaluate(motion.t, motion.q, motion.v, ("W", "forces"))
    wrench = np.einsum("kvi,ki->kv", out["W"], motion.multipliers) + out["forces"]
    force, torque = wrench[:, :3], turned(wrench[:, 3:])
    place = np.array([motion.parameters[symbol] for symbol in p])
    return {
        "Pos": r,
        "Vel": motion.v[:, :3],
        "Acc": motion.acceleration[:, :3],
        "Quat": quaternion,
        "Avel": turned(motion.v[:, 3:]),
        "Aacc": turned(motion.acceleration[:, 3:]),
        "Rforce": -force,
        "Rtorque": -(torque + np.cross(r - place, force)),
    }
