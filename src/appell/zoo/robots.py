"""Robots as trees with constraints: rolling wheels, closed loops."""

from __future__ import annotations

import math
from importlib import resources

import numpy as np
from sympy import sin

from appell.jets import parameters, t
from appell.scene import Box, Floor, Link, Point, Scene, Sphere, Trail, Wheel
from appell.tree import Inertia, Joint, Tree, loop, place, rolling
from appell.zoo.example import Example

G = 9.81


def differential_drive() -> Example:
    """A platform on two wheels of one axle; a frictionless caster carries the rest. Wheels roll without slipping:

        ẋ cos ψ + ẏ sin ψ = (r/2)(ω_l + ω_r),        −ẋ sin ψ + ẏ cos ψ = 0,        ψ̇ = (r/2b)(ω_r − ω_l)

    (x, y): middle of the axle (m), ψ: heading, 2b: track, r: radius. Torques tau_l, tau_r (N m) act between body and wheels.
    The centre of mass lies ahead of the axle by 0.05 m.
    """
    radius, half_track = 0.1, 0.25
    tau_l, tau_r = parameters("tau_l tau_r")
    body = Inertia.at_centre(10.0, (0.05, 0, 0.05), np.diag([0.2, 0.3, 0.4]))
    wheel = Inertia.at_centre(0.8, (0, 0, 0), np.diag([0.0022, 0.004, 0.0022]))
    tree = Tree(
        [
            Joint("heading", "planar", placement=place((0, 0, radius)), body=body, link="platform"),
            Joint("left", "continuous", "heading", place((0, half_track, 0)), (0, 1, 0), wheel, link="left_wheel"),
            Joint("right", "continuous", "heading", place((0, -half_track, 0)), (0, 1, 0), wheel, link="right_wheel"),
        ],
        name="differential drive",
    )
    left, right = tree.joint("left"), tree.joint("right")
    system = tree.system(
        constraints=[
            rolling(tree.frame("left_wheel"), radius, height=None, name="left"),
            rolling(tree.frame("right_wheel"), radius, height=None, sideways=False, name="right"),
        ],
        forces={left: tau_l, right: tau_r},
    )
    forward, _, turning = tree.speeds("heading")
    rate_l, rate_r = 3.0, 5.0
    scene = Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1]),
            Trail([*tree.frame("platform").position.flat()[:2], 0]),
            Box(tree.frame("platform").at((0.05, 0, 0.05)), [0.4, 0.36, 0.08], name="platform"),
            *(Wheel(f"{side}_wheel", radius, axis="y", thickness=0.05, name=side) for side in ("left", "right")),
            Sphere(tree.frame("platform").at((0.22, 0, -0.06)), 0.04, colour="#8a8f98", name="caster"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={tau_l: 0.02, tau_r: 0.03},
        start={
            left.d: rate_l,
            right.d: rate_r,
            forward: radius / 2 * (rate_l + rate_r),
            turning: radius / (2 * half_track) * (rate_r - rate_l),
        },
        reference="G. Campion, G. Bastin, B. d'Andréa-Novel, IEEE Trans. Robotics and Automation 12 (1996) 47–62",
    )


def four_bar_urdf() -> Example:
    """The four-bar linkage of `zoo.four_bar` as a robot file (crank, coupler; rocker) and one loop:

        p_coupler_tip = p_rocker_tip in the plane of the mechanism        (two rows, on the coupler's axes)

    Joint angles are relative: θ1 = crank_joint, θ2 = crank_joint + coupler_joint, θ3 = rocker_joint.
    """
    with resources.as_file(resources.files("appell.zoo") / "four_bar.urdf") as path:
        tree = Tree.from_urdf(path, gravity=(0, -G, 0))
    tips = tree.frame("coupler_tip"), tree.frame("rocker_tip")
    theta1, theta2, theta3 = (tree.joint(f"{bar}_joint") for bar in ("crank", "coupler", "rocker"))
    crank = 10.0  # rad/s, with the crank upright the others follow from 3-4-5 triangles
    return Example(
        system=tree.system(constraints=loop(*tips, "pin", name="loop"), name="four-bar linkage from a robot file"),
        parameters={},
        start={
            theta1: math.pi / 2,
            theta2: math.atan2(3, 4) - math.pi / 2,
            theta3: math.atan2(4, -3),
            theta1.d: crank,
            theta2.d: -28 * crank / 25,
            theta3.d: 4 * crank / 25,
        },
        until=5.0,
        reference="E. J. Haug, Computer Aided Kinematics and Dynamics (1989)",
    )


def stewart_platform() -> Example:
    """A platform on six legs, each a cross of two hinges, a slide and a ball: six closed loops, six degrees of freedom.

        p_tip,i = p + R r_i,  i = 1 … 6        (18 rows on 24 joint velocities)

    The slides are driven by F = F0 + k (A sin(t + i) − s) − c ṡ with F0 near the weight; A, k, c in m, N/m, N s/m.
    """
    A, k, c = parameters("A k c", nonnegative=True)
    base = [_on_circle(1.0, 60 * i + side * 12) for i in (0, 2, 4) for side in (-1, 1)]
    top = [_on_circle(0.6, 60 * i + side * 10) for i in (-1, 1, 3) for side in (-1, 1)]
    top = top[1:] + top[:1]
    height, weight = 1.2, 60.0
    plate = Inertia.at_centre(weight, (0, 0, 0), np.diag([4.0, 4.0, 8.0]))
    joints = [Joint("free", "floating", body=plate, link="platform")]
    start = {}
    for i, (foot, head) in enumerate(zip(base, top, strict=True), start=1):
        d = np.array([head[0] - foot[0], head[1] - foot[1], height])
        joints += _leg(i, foot, float(np.linalg.norm(d)))
        start |= {f"cross{i}": math.atan2(-d[1], d[2]), f"swing{i}": math.asin(d[0] / np.linalg.norm(d))}
    tree = Tree(joints, gravity=(0, 0, -G), name="Stewart platform")
    plate_frame = tree.frame("platform")
    legs = [tree.joint(f"leg{i}") for i in range(1, 7)]
    lift = (weight + 6 * 3.0) * G / 6
    system = tree.system(
        constraints=[
            loop(tree.frame(f"piston{i}"), plate_frame.at((*head, 0.0)), "spherical", name=f"ball {i}")
            for i, head in enumerate(top, start=1)
        ],
        forces={s: lift + k * (A * sin(t + i) - s) - c * s.d for i, s in enumerate(legs)},
    )
    corners = [plate_frame.at((*head, 0.0)) for head in top]
    cylinders = [
        Link([*foot, 0.0], tree.frame(f"swing{i}").at((0, 0, 0.7)), width=0.07, colour="#5b6470")
        for i, foot in enumerate(base, start=1)
    ]
    pistons = [Link([*foot, 0.0], corner, width=0.035, colour="#c9a227") for foot, corner in zip(base, corners, strict=True)]
    scene = Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1], length=2.6),
            *cylinders,
            *pistons,
            *(Link(a, b, width=0.06) for a, b in zip(corners, [*corners[1:], corners[0]], strict=True)),
            *(Point(corner, 0.05, colour="#5b6470") for corner in corners),
            Trail(plate_frame, name="platform"),
        ],
    )
    return Example(
        system=system,
        scene=scene,
        parameters={A: 0.1, k: 4000.0, c: 100.0},
        start={tree.joint("free")[2]: height, **{tree.joint(name): value for name, value in start.items()}},
        reference="D. Stewart, Proc. Inst. Mech. Eng. 180 (1965) 371–386",
    )


def _on_circle(radius: float, degrees: float) -> tuple[float, float]:
    return radius * math.cos(math.radians(degrees)), radius * math.sin(math.radians(degrees))


def _leg(i: int, foot: tuple[float, float], length: float) -> list[Joint]:
    """Cross, cylinder and piston; the slide is 0 where the leg has this length."""
    cross = Inertia.at_centre(0.5, (0, 0, 0), np.diag([0.001, 0.001, 0.001]))
    cylinder = Inertia.at_centre(4.0, (0, 0, 0.3), np.diag([0.12, 0.12, 0.005]))
    piston = Inertia.at_centre(2.0, (0, 0, -0.3), np.diag([0.06, 0.06, 0.001]))
    return [
        Joint(f"cross{i}", "revolute", placement=place((*foot, 0.0)), axis=(1, 0, 0), body=cross),
        Joint(f"swing{i}", "revolute", f"cross{i}", axis=(0, 1, 0), body=cylinder),
        Joint(f"leg{i}", "prismatic", f"swing{i}", place((0, 0, length)), (0, 0, 1), piston, link=f"piston{i}"),
    ]


def wheeled_leg() -> Example:
    """A leg with hip, knee and a wheel that rolls without slipping, carrying its share of a quadruped's trunk:

        z_wheel = r,        ẋ_wheel = r ω        (ω: turning of the wheel in space)

    The trunk moves in the vertical plane without turning (x, z). Hip and knee are held by k (φ0 − φ) − c φ̇; the wheel
    is driven by the torque tau (N m). φ = 0 is a stretched leg pointing down.
    """
    k, c, tau = parameters("k c tau")
    thigh, shank, radius = 0.3, 0.3, 0.08
    bar = lambda mass, length: Inertia.at_centre(mass, (0, 0, -length / 2), mass * length**2 / 12 * np.diag([1, 1, 0.02]))
    wheel = Inertia.at_centre(0.6, (0, 0, 0), np.diag([0.001, 0.0019, 0.001]))
    trunk = Inertia.at_centre(8.0, (0, 0, 0), 0.1 * np.eye(3))
    hip0, knee0 = 0.6, -1.2
    reach = thigh * math.cos(hip0) + shank * math.cos(hip0 + knee0)
    tree = Tree(
        [
            Joint("x", "prismatic", axis=(1, 0, 0)),
            Joint("z", "prismatic", "x", axis=(0, 0, 1), body=trunk, link="trunk"),
            Joint("hip", "revolute", "z", axis=(0, 1, 0), body=bar(1.5, thigh)),
            Joint("knee", "revolute", "hip", place((0, 0, -thigh)), (0, 1, 0), bar(0.8, shank)),
            Joint("roll", "continuous", "knee", place((0, 0, -shank)), (0, 1, 0), wheel, link="wheel"),
        ],
        name="leg with a wheel",
    )
    x, z, hip, knee, roll = (tree.joint(name) for name in ("x", "z", "hip", "knee", "roll"))
    system = tree.system(
        constraints=rolling(tree.frame("wheel"), radius, sideways=False),
        forces={hip: k * (hip0 - hip) - c * hip.d, knee: k * (knee0 - knee) - c * knee.d, roll: tau},
    )
    speed = 0.5
    scene = Scene(
        system,
        [
            Floor([0, 0, 0], [0, 0, 1]),
            Box("trunk", [0.3, 0.16, 0.12], colour="#8a8f98", name="trunk"),
            Link("hip", "knee", name="thigh"),
            Link("knee", "roll", colour="#e08a3c", name="shank"),
            Point("hip", hinge=True),
            Point("knee", hinge=True),
            Wheel("wheel", radius, axis="y", thickness=0.04, name="wheel"),
        ], view="xz",
    )
    return Example(
        system=system,
        scene=scene,
        parameters={k: 150.0, c: 4.0, tau: 0.05},
        start={z: reach + radius, hip: hip0, knee: knee0, x.d: speed, roll.d: speed / radius},
        until=4.0,
        reference="M. Bjelonic et al., Keep Rollin', IEEE Robotics and Automation Letters 4 (2019) 2116–2123",
    )
