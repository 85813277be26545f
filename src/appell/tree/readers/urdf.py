"""Joints from URDF files, in Pinocchio's order: depth first, successors sorted by joint name.

Meshes are never opened here. A link without `<inertial>` has no mass. Axes are normalized; one of length 0 raises. Limits,
damping, dry friction and `<mimic>` become fittings, which act in motions (`appell.tree.fittings`); notes list them, and
elements unknown in URDF, such as `<Origin>` for `<origin>`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn
from xml.etree.ElementTree import Element

import numpy as np

from appell.errors import ModelError
from appell.reading import shown, text_of
from appell.spelling import checked_keywords
from appell.tree.description import Joint, Limits, unit_axis
from appell.tree.fittings import Coupling
from appell.tree.inertia import HERE, Inertia, Placement, entry, place
from appell.tree.joints import JOINTS, JointKind
from appell.tree.readers.document import Document
from appell.tree.readers.file_rotations import stated_quaternion
from appell.tree.readers.joint_fittings import StatedJoint, joint_fittings
from appell.tree.readers.robot import Robot
from appell.tree.readers.urdf_shapes import link_shapes
from appell.tree.readers.xml import parse_xml

ROOT_JOINT = "root_joint"
KNOWN = {
    "link": {"inertial", "visual", "collision"},
    "inertial": {"origin", "mass", "inertia"},
    "joint": {"origin", "axis", "parent", "child", "dynamics", "limit", "mimic", "calibration", "safety_controller"},
}
KNOWN_ATTRIBUTES = {
    "origin": {"xyz", "rpy", "quat_xyzw"}, "axis": {"xyz"}, "mass": {"value"}, "mimic": {"joint", "multiplier", "offset"},
    "dynamics": {"damping", "friction"}, "inertia": {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"},
    "limit": {"lower", "upper", "effort", "velocity", "acceleration", "deceleration", "jerk"},
}  # fmt: skip
"""Attributes of the elements that are read; the last three limits are those of planners."""
CUT = "a URDF is a tree: leave one of these joints out and close the loop by ap.tree.loop"


@dataclass(frozen=True, eq=False)
class _Row(StatedJoint):
    """One <joint> element."""

    parent: str = ""
    child: str = ""


@checked_keywords()
def read_urdf(
    document: Document, *, floating: bool = False, limits: bool = True, damping: bool | None = None, friction: bool = True,
    mimic: bool = True, quarter_turns: float = 0.0,
) -> Robot:  # fmt: skip
    """The robot in the file, its root link welded to the ground or free; options as those of `Tree.from_urdf`."""
    where = document.where
    robot = parse_xml(document.data, where, "utf-8" if document.decoded else None)
    if robot.tag != "robot":
        raise ModelError(f"{where}: the root element is <{robot.tag}>, expected <robot>")
    macros = [element.tag for element in robot.iter() if ":" in element.tag and element.tag.startswith("xacro")]
    if macros:
        raise ModelError(f"{where} contains <{macros[0]}>: it is a macro file; expand it with xacro first")
    tolerance = entry(quarter_turns, "quarter_turns (rad)")
    if tolerance:
        _round_angles(robot, tolerance)
    notes: list[str] = []
    links = _links(robot, notes)
    rows = [_row(element, bool(damping), notes) for element in robot.findall("joint")]
    root, names, base = _root(rows, links), {row.joint.name for row in rows}, ROOT_JOINT
    while base in names:
        base += "_"
    base_joint = Joint(base, "floating" if floating else "fixed", body=links[root], link=root)
    joints = (base_joint, *_in_order(rows, links, root, base))
    fittings = joint_fittings(rows, limits=limits, damping=damping is None, friction=friction, mimic=mimic, notes=notes)
    return Robot(robot.get("name", "robot"), joints, tuple(notes), tuple(link_shapes(robot)), fittings=fittings)


def _round_angles(robot: Element, tolerance: float) -> None:
    """1.5708 → π/2 in every rpy, where the difference is within the bound."""
    origins = [(element, origin) for element in robot for origin in element.iter("origin")]
    for element, origin in origins:
        if origin.get("rpy") is not None:
            angles = _numbers(origin, "rpy", f"{element.tag} '{element.get('name', '')}'")
            multiples = [round(angle / (math.pi / 2)) * (math.pi / 2) for angle in angles]
            rounded = [b if abs(a - b) < tolerance else a for a, b in zip(angles, multiples, strict=True)]
            origin.set("rpy", " ".join(map(repr, rounded)))


def _in_order(rows: Sequence[_Row], links: Mapping[str, Inertia], root: str, base: str) -> list[Joint]:
    """Depth first from the root link, which the joint `base` carries; the joints of one link by name."""
    children: dict[str, list[_Row]] = {link: [] for link in links}
    for row in sorted(rows, key=lambda row: row.joint.name.encode(), reverse=True):
        children[row.parent].append(row)
    ordered: list[Joint] = []
    stack = [(row, base) for row in children[root]]
    while stack:
        row, carrier = stack.pop()
        joint = row.joint
        ordered.append(replace(joint, parent=carrier, body=links[row.child], link=row.child))
        stack.extend((next_row, joint.name) for next_row in children[row.child])
    reached = {root, *(joint.link for joint in ordered)}
    for row in rows:
        if row.child not in reached:
            _refuse_loop(rows, row.child)
    return ordered


def _refuse_loop(rows: Sequence[_Row], link: str) -> NoReturn:
    """Raises with the loop: found upwards from a link without a root, from the first link that repeats."""
    inbound = {row.child: row for row in rows}
    path: dict[str, int] = {}
    while link not in path:
        path[link] = len(path)
        link = inbound[link].parent
    names = [inbound[child].joint.name for child in reversed(list(path)[path[link] :])]
    if len(names) == 1:
        raise ModelError(f"joint '{names[0]}' joins link '{link}' to itself")
    listed = ", ".join(f"'{name}'" for name in names[:12]) + (" …" if len(names) > 12 else "")
    raise ModelError(f"joints {listed} form a closed loop; {CUT}")


def _root(rows: Sequence[_Row], links: Mapping[str, Inertia]) -> str:
    """The only link that is not the child of a joint."""
    inbound: dict[str, str] = {}
    for row in rows:
        name = row.joint.name
        for end, link in (("parent", row.parent), ("child", row.child)):
            if link not in links:
                raise ModelError(f"joint '{name}': its {end} link '{link}' is not among the <link> elements")
        if row.child in inbound:
            raise ModelError(
                f"link '{row.child}' is the child of joint '{inbound[row.child]}' and of joint '{name}': a closed loop; {CUT}"
            )
        inbound[row.child] = name
    roots = sorted(set(links) - set(inbound))
    if not links:
        raise ModelError("the robot has no <link>")
    if not roots:
        _refuse_loop(rows, rows[0].child)
    if len(roots) > 1:
        listed = ", ".join(map(repr, roots[:12])) + (" …" if len(roots) > 12 else "")
        raise ModelError(f"the links {listed} are not connected; a robot has one root link: join them by a <joint>")
    return roots[0]


def _links(robot: Element, notes: list[str]) -> dict[str, Inertia]:
    links: dict[str, Inertia] = {}
    for element in robot.findall("link"):
        name = _name_of(element, "link")
        if name in links:
            raise ModelError(f"two links have the name '{name}'")
        where = f"link '{name}'"
        _note_unknown(element, where, notes)
        inertial = _child(element, "inertial", where)
        links[name] = Inertia.zero() if inertial is None else _inertia(inertial, where, notes)
    return links


def _inertia(inertial: Element, where: str, notes: list[str]) -> Inertia:
    _note_unknown(inertial, where, notes)
    mass, matrix = _child(inertial, "mass", where), _child(inertial, "inertia", where)
    if mass is None or matrix is None:
        missing = "mass" if mass is None else "inertia"
        raise ModelError(f"{where}: <inertial> has no <{missing}>")
    xx, xy, xz, yy, yz, zz = (_number(matrix, key, where) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    origin = _origin(inertial, f"the <inertial> of {where}")
    stated = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported as not finite, or noted
        J = origin.R @ stated @ origin.R.T
        body = Inertia.at_centre(_number(mass, "value", where), origin.p, (J + J.T) / 2, where, as_stated=True)
    if reason := body.impossible():
        notes.append(f"{where}: <inertial> is not that of a body, {reason}; it is used as it stands")
    return body


def _row(element: Element, damping: bool, notes: list[str]) -> _Row:
    name = _name_of(element, "joint")
    where, stated = f"joint '{name}'", element.get("type", "")
    known = {kind.urdf: kind for kind in JOINTS.values() if kind.urdf}
    if stated not in known:
        raise ModelError(f"{where} is of the unknown type {shown(stated)}; URDF knows {', '.join(known)}")
    kind = known[stated]
    _note_unknown(element, where, notes)
    ends = {}
    for tag in ("parent", "child"):
        end = _child(element, tag, where)
        if end is None or not end.get("link"):
            raise ModelError(f"{where} has no <{tag} link=…>")
        ends[tag] = end.get("link", "")
    axis = _child(element, "axis", where)
    direction: Sequence[float] = (1.0, 0.0, 0.0)
    if axis is not None and kind.axial:
        direction = tuple(unit_axis(_numbers(axis, "xyz", where), where))
    dynamics = _child(element, "dynamics", where)
    viscous, dry = (0.0 if dynamics is None else _loss(dynamics, key, where) for key in ("damping", "friction"))
    joint = Joint(name, kind.name, None, _origin(element, where), direction, damping=viscous if damping else 0.0)
    joint = replace(joint, limits=_limits(element, kind, where, notes))
    moves = kind.nv > 0
    losses = {"damping": viscous * moves, "friction": dry * moves}
    return _Row(joint, **losses, mimic=_mimic(element, name, where), parent=ends["parent"], child=ends["child"])


def _loss(dynamics: Element, key: str, where: str) -> float:
    value = _number(dynamics, key, where, 0.0)
    if value < 0:
        raise ModelError(f"{where}: <dynamics {key}='{value:g}'> must not be negative")
    return value


def _mimic(element: Element, name: str, where: str) -> Coupling | None:
    stated = _child(element, "mimic", where)
    if stated is None:
        return None
    offset, factor = _number(stated, "offset", where, 0.0), _number(stated, "multiplier", where, 1.0)
    return Coupling(name, stated.get("joint", ""), (offset, factor))


def _limits(element: Element, kind: JointKind, where: str, notes: list[str]) -> Limits | None:
    """The <limit> of joints with one coordinate; values that are not numbers are noted and ignored. Continuous joints have no
    stops.

    If only one of lower and upper is given, the other is 0, as the format defines; if neither is, there is no limit.
    """
    stated = _child(element, "limit", where)
    if stated is None or kind.nq != 1:
        return None
    values: dict[str, float] = {}
    for key in ("lower", "upper", "velocity", "effort"):
        text = stated.get(key)
        if text is None or (kind.urdf == "continuous" and key in ("lower", "upper")):
            continue
        try:
            values[key] = _float(text)
        except ValueError:
            values[key] = math.nan
        if math.isnan(values[key]):
            notes.append(f"{where}: <limit {key}={text!r}> is not a number, and is not used")
        elif values[key] < 0 and key in ("velocity", "effort"):
            notes.append(f"{where}: <limit {key}={text!r}> is negative, and is not used")
        else:
            continue
        values[key] = Limits.__dataclass_fields__[key].default
    for key, opposite in (("lower", "upper"), ("upper", "lower")):
        if key in values and stated.get(opposite) is None:
            values[opposite] = 0.0
            notes.append(f"{where}: <limit> states no {opposite} limit, which is 0 then")
    return Limits(**values)


def _name_of(element: Element, tag: str) -> str:
    name = element.get("name")
    if not name:
        raise ModelError(f"a <{tag}> has no name")
    return name


def _child(element: Element, tag: str, where: str) -> Element | None:
    """The one <tag> of an element, if there is one."""
    children = element.findall(tag)
    if len(children) > 1:
        raise ModelError(f"{where} has {len(children)} <{tag}>; keep the one that is meant")
    return children[0] if children else None


def _note_unknown(element: Element, where: str, notes: list[str]) -> None:
    unknown = sorted({child.tag for child in element} - KNOWN[element.tag])
    notes.extend(f"{where}: <{tag}> is not an element of <{element.tag}> in URDF, and is not used" for tag in unknown)
    for child in element:
        foreign = sorted(set(child.attrib) - KNOWN_ATTRIBUTES.get(child.tag, set(child.attrib)))
        notes.extend(f"{where}: <{child.tag} {text_of(key)}=…> is not known in URDF, and is not used" for key in foreign)


def _origin(element: Element, where: str) -> Placement:
    origin = _child(element, "origin", where)
    if origin is None:
        return HERE
    xyz, rpy = (_numbers(origin, key, where) if origin.get(key) is not None else (0.0,) * 3 for key in ("xyz", "rpy"))
    if origin.get("quat_xyzw") is None:
        return place(xyz, rpy)
    four = _numbers(origin, "quat_xyzw", where, 4)
    try:
        return Placement(stated_quaternion(origin, four), np.array(xyz))
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from None


def _numbers(element: Element, key: str, where: str, count: int = 3) -> tuple[float, ...]:
    text = element.get(key, "")
    try:
        values = tuple(map(_float, text.split()))
    except ValueError:
        values = ()
    if len(values) != count or not all(map(math.isfinite, values)):
        number_word = {3: "three", 4: "four"}[count]
        raise ModelError(f"{where}: <{element.tag} {text_of(key)}={shown(text)}> must be {number_word} finite numbers")
    return values


def _float(word: str) -> float:
    """Python's float(), but not for 1_000 or digits of other scripts, which no other reader accepts."""
    return float(word) if word.isascii() and "_" not in word else math.nan


def _number(element: Element, key: str, where: str, default: float | None = None) -> float:
    text = element.get(key)
    if text is None and default is not None:
        return default
    try:
        value = _float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ModelError(f"{where}: <{element.tag} {text_of(key)}={shown(text)}> must be a finite number")
    return value
