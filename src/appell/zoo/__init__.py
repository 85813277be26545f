"""Classical systems as functions, each with its equations, its reference and a consistent start.

    example = zoo.skate()
    motion = simulate(example.system, start=example.start, until=example.until, parameters=example.parameters)

`ALL` maps every name to its function; each can be called without arguments. `ROBOTS` are trees with constraints, whose energies
are not symbolic expressions. `FRICTION` are systems with dry friction, whose equations depend on the mode. `WALKERS` have
resets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from appell.spelling import did_you_mean
from appell.zoo.ball import rolling_ball_on_turntable
from appell.zoo.disc import rolling_coin, rolling_disc
from appell.zoo.dry_friction import block_on_belt, bowling_ball, ladder, locking_wheel, painleve_rod
from appell.zoo.example import Example
from appell.zoo.grioli import grioli, homogeneous_ball
from appell.zoo.knife_edge import turning_knife_edge
from appell.zoo.linkage import four_bar, sliding_rod
from appell.zoo.nonlinear import appell_hamel, constant_speed
from appell.zoo.pendulum import n_pendulum, pendulum
from appell.zoo.planar_body import holonomic_pseudo
from appell.zoo.rattleback import rattleback
from appell.zoo.robots import differential_drive, four_bar_urdf, stewart_platform, wheeled_leg
from appell.zoo.rough import billiard_ball, hopping_leg, tippe_top, woodpecker_toy
from appell.zoo.second_order import constant_acceleration, orthogonal_acceleration
from appell.zoo.skate import skate
from appell.zoo.sleigh import sleigh
from appell.zoo.snakeboard import snakeboard
from appell.zoo.surface import inclined_plane, paraboloid
from appell.zoo.suslov import suslov
from appell.zoo.top import euler_body, heavy_top, heavy_top_quaternion
from appell.zoo.walkers import compass_gait, rimless_wheel, simplest_walker
from appell.zoo.walls_and_stops import (
    arm_with_joint_stops,
    ball_in_corner,
    bead_in_circle,
    bead_on_pulley_thread,
    block_on_vibrating_table,
    bouncing_ball,
    double_pendulum_with_wall,
    impact_pair,
    oscillator_between_stops,
    oscillator_with_wall,
    thread_pendulum,
)

ALL: dict[str, Callable[[], Example]] = {
    function.__name__: function
    for function in (
        appell_hamel,
        arm_with_joint_stops,
        ball_in_corner,
        bead_in_circle,
        bead_on_pulley_thread,
        block_on_vibrating_table,
        bouncing_ball,
        constant_acceleration,
        constant_speed,
        double_pendulum_with_wall,
        euler_body,
        four_bar,
        grioli,
        heavy_top,
        heavy_top_quaternion,
        holonomic_pseudo,
        homogeneous_ball,
        impact_pair,
        inclined_plane,
        n_pendulum,
        orthogonal_acceleration,
        oscillator_between_stops,
        oscillator_with_wall,
        paraboloid,
        pendulum,
        rolling_ball_on_turntable,
        rolling_coin,
        rolling_disc,
        skate,
        sleigh,
        sliding_rod,
        snakeboard,
        suslov,
        thread_pendulum,
        turning_knife_edge,
    )
}

LARGE: dict[str, Callable[[], Example]] = {"rattleback": rattleback}
"""Systems whose classical forms fill pages: for runs and the laboratory, not for reading."""

ROBOTS: dict[str, Callable[[], Example]] = {
    function.__name__: function for function in (differential_drive, four_bar_urdf, stewart_platform, wheeled_leg)
}

FRICTION: dict[str, Callable[[], Example]] = {
    function.__name__: function
    for function in (
        billiard_ball,
        block_on_belt,
        bowling_ball,
        hopping_leg,
        ladder,
        locking_wheel,
        painleve_rod,
        tippe_top,
        woodpecker_toy,
    )
}

WALKERS: dict[str, Callable[[], Example]] = {
    function.__name__: function for function in (compass_gait, rimless_wheel, simplest_walker)
}


def __getattr__(name: str) -> Any:
    raise AttributeError(f"the zoo has no {name!r}{did_you_mean(name, __all__)}")


__all__ = [
    "ALL",
    "FRICTION",
    "LARGE",
    "ROBOTS",
    "WALKERS",
    "Example",
    "appell_hamel",
    "arm_with_joint_stops",
    "ball_in_corner",
    "bead_in_circle",
    "bead_on_pulley_thread",
    "billiard_ball",
    "block_on_belt",
    "block_on_vibrating_table",
    "bouncing_ball",
    "bowling_ball",
    "compass_gait",
    "constant_acceleration",
    "constant_speed",
    "differential_drive",
    "double_pendulum_with_wall",
    "euler_body",
    "four_bar",
    "four_bar_urdf",
    "grioli",
    "heavy_top",
    "heavy_top_quaternion",
    "holonomic_pseudo",
    "homogeneous_ball",
    "hopping_leg",
    "impact_pair",
    "inclined_plane",
    "ladder",
    "locking_wheel",
    "n_pendulum",
    "orthogonal_acceleration",
    "oscillator_between_stops",
    "oscillator_with_wall",
    "painleve_rod",
    "paraboloid",
    "pendulum",
    "rattleback",
    "rimless_wheel",
    "rolling_ball_on_turntable",
    "rolling_coin",
    "rolling_disc",
    "simplest_walker",
    "skate",
    "sleigh",
    "sliding_rod",
    "snakeboard",
    "stewart_platform",
    "suslov",
    "thread_pendulum",
    "tippe_top",
    "turning_knife_edge",
    "wheeled_leg",
    "woodpecker_toy",
]
