"""Display of a tree, as text and in notebooks."""

from __future__ import annotations

from html import escape
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appell.tree.tree import Tree

JOINTS_LISTED = 40
"""The largest number of joints listed."""


def outline(tree: Tree) -> str:
    """One line for each joint: kind, limits, and mass of its body; then the notes."""
    lines = [f"{tree.name}: nq = {tree.nq}, nv = {tree.nv}"]
    depth: dict[str, int] = {}
    for joint in tree.joints:
        depth[joint.name] = 0 if joint.parent is None else depth[joint.parent] + 1
        body = f" → {joint.link}" if joint.link else ""
        limit = tree.limits.get(joint.name)
        ends = (-inf, inf) if limit is None else (limit.lower, limit.upper)
        range_text = "" if ends == (-inf, inf) else f", {ends[0]:g} … {ends[1]:g}"
        lines.append(f"{'  ' * (depth[joint.name] + 1)}{joint.name} ({joint.kind}{range_text}){body}")
    return "\n".join([*lines, *(f"note: {note}" for note in tree.notes)])


def table(tree: Tree) -> str:
    """Name, kind, predecessor and mass of each joint that moves, with notes, in HTML."""
    predecessor = lambda n: tree.nodes[n.parent].name if n.parent >= 0 else "ground"
    rows = [(n.name, n.kind.name, predecessor(n), n.inertia.m) for n in tree.nodes[:JOINTS_LISTED]]
    cells = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    omitted = f"<p>… and {len(tree.nodes) - JOINTS_LISTED} more</p>" if len(tree.nodes) > JOINTS_LISTED else ""
    head = "<tr><th>joint</th><th>kind</th><th>on</th><th>mass behind it, kg</th></tr>"
    notes = "".join(f"<p>{escape(note)}</p>" for note in tree.notes[:8])
    title = f"<b>{escape(tree.name)}</b>: nq = {tree.nq}, nv = {tree.nv}"
    return f"{title}<table>{head}{cells}</table>{omitted}{notes}"
