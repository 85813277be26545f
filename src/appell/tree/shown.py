"""What a notebook shows of a tree: its joints in a table."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appell.tree.tree import Tree

MOST = 40
"""Joints that are listed."""


def table(tree: Tree) -> str:
    """Name, kind, predecessor and mass of each joint that moves, with notes, in HTML."""
    on = lambda n: tree.nodes[n.parent].name if n.parent >= 0 else "ground"
    rows = [(n.name, n.kind.name, on(n), n.inertia.m) for n in tree.nodes[:MOST]]
    cells = "".join("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows)
    more = f"<p>… and {len(tree.nodes) - MOST} more</p>" if len(tree.nodes) > MOST else ""
    head = "<tr><th>joint</th><th>kind</th><th>on</th><th>mass behind it, kg</th></tr>"
    notes = "".join(f"<p>{escape(note)}</p>" for note in tree.notes[:8])
    title = f"<b>{escape(tree.name)}</b>: nq = {tree.nq}, nv = {tree.nv}"
    return f"{title}<table>{head}{cells}</table>{more}{notes}"
