"""C source of the projection onto the constraints, for one run or for lanes: `project.c.in` filled in for a flow."""

from __future__ import annotations

from collections.abc import Sequence

from appell.backends.text.templates import template
from appell.normal_form.flow import Flow

CORRECTION_ROUNDS = 2
"""Rounds of corrections onto rows and energy: moving positions towards the energy violates the rows in second order."""


def projection_text(flow: Flow) -> str:
    """`loop_onto(given, t, z, active, defect)`: Newton's corrections of positions, then of velocities, in the kinetic metric;
    for conserving methods also of the energy."""
    text = template("loop/project.c.in")
    head, tail = text.split("/* -- correction -- */\n")
    correction, body = tail.split("/* -- all -- */\n")
    steps = {"position": flow.position, "velocity": flow.velocity, "energy": flow.energy}
    names = [name for name, step in steps.items() if step is not None]
    rounds = CORRECTION_ROUNDS if flow.energy is not None else 1
    calls = [f"    failed |= correct_{name}(given, t, z, active & NOT(failed), defect);" for name in names * rounds]
    if calls:  # the corrections of positions changed quaternions, too
        calls.insert(1, "    make_unit(z, active);")
    body = body.replace("@units@", "\n".join(map(_unit_text, flow.quaternions))).replace("@calls@", "\n".join(calls))
    return "".join([head, *(correction.replace("@step@", name) for name in names), body])


def _unit_text(group: Sequence[int]) -> str:
    """z /= |z| over the four entries of a quaternion."""
    square = " + ".join(f"z[{i}]*z[{i}]" for i in group)
    scaled = "".join(f"        z[{i}] = lanes_select(active, z[{i}]*e, z[{i}]);\n" for i in group)
    return f"    {{\n        const V e = lanes_inverse_root({square});\n{scaled}    }}"


__all__ = ["CORRECTION_ROUNDS", "projection_text"]
