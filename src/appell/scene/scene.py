"""`Scene`: the picture of a system, in symbols. `appell.scene.film` evaluates it along a motion."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy
from sympy import Expr

from appell.errors import ModelError
from appell.jets import Parameter, Prescribed, expression, t
from appell.model import System
from appell.model.bodies import Particle, RigidBody
from appell.model.described import system_of
from appell.reading import items_of, shown
from appell.scene.automatic import automatic
from appell.scene.items import Attached, Item, Parts
from appell.tree.symbols.frame_symbols import FrameJet, FrameSymbols
from appell.tree.tree_system import TreeSystem

VIEWS = ("flat", "xz", "yz", "space")

_adopted: weakref.WeakKeyDictionary[System, tuple[Any, ...]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class _ItemName:
    """Names an item in an error; the text is formed on demand, because long expressions take long to print."""

    item: Item
    text: str = "{} of a scene"

    def __str__(self) -> str:
        return self.text.format(self.item.title)


class Scene:
    """The picture of a system: items of `ap.scene` attached to expressions, bodies or frames.

        ap.Scene(system, [ap.scene.Link([0, 0], [l*sin(theta), -l*cos(theta)]), ap.scene.Floor()])

    Parameters
    ----------
    system: the system (or tree) whose symbols the items use.
    items: what to draw. Without it the scene is made from the bodies, joints and coordinates of the system.
    view: "flat" draws x to the right and y upwards, as a textbook does; "xz" and "yz" draw these planes; "space" is seen
        from a camera. By default a scene is flat if nothing leaves the plane.
    """

    def __init__(self, system: Any, items: Iterable[Item] | None = None, *, view: str | None = None):
        self.system: System = system_of(system, "ap.Scene")
        if view is not None and (not isinstance(view, str) or view not in VIEWS):
            raise ModelError(f"view is one of {', '.join(VIEWS)}; not {shown(view)}")
        self.notes: tuple[str, ...] = ()
        if items is None:
            items, view, self.notes = automatic(self.system, view)
        self.items: tuple[Item, ...] = tuple([items] if isinstance(items, Item) else items_of(items, "the items of a Scene"))
        for item in self.items:
            if not isinstance(item, Item):
                raise ModelError(f"a Scene is made of items such as ap.scene.Point and ap.scene.Link, not of {shown(item)}")
        self._in_plane = True
        self._checks: dict[Expr, Expr] = {}  # checked expressions: joints are shared by several links
        self.parts: tuple[Parts, ...] = tuple(self._parts(item) for item in self.items)
        self.view = view or ("flat" if self._in_plane else "space")

    def __repr__(self) -> str:
        return f"<Scene of {self.system.name}: {len(self.items)} items, {self.view}>"

    @staticmethod
    def of(system: Any) -> Scene:
        """The scene that comes with a system (those of the zoo have one), or the automatic one."""
        system = system_of(system, "ap.Scene")
        if system in _adopted:
            items, view = _adopted[system]
            return Scene(system, items, view=view)
        return Scene(system)

    def adopt(self) -> Scene:
        """Makes this the scene of its system, used for motions shown without one."""
        _adopted[self.system] = (self.items, self.view)
        return self

    # -- places in symbols ---------------------------------------------------------------------------------------------

    def _parts(self, item: Item) -> Parts:
        parts = item.parts(lambda place, role: self._resolve(place, role, item))
        return {name: self._checked(value, item) for name, value in parts.items()}

    def _checked(self, value: Any, item: Item) -> Any:
        if isinstance(value, list):
            return [self._checked(entry, item) for entry in value]
        expr = self._read(value, item)
        if expr not in self._checks:
            self._checks[expr] = self._with_known_symbols(expr, item)
        return self._checks[expr]

    def _read(self, value: Any, item: Item) -> Expr:
        return value if isinstance(value, Expr) and value in self._checks else expression(value, _ItemName(item))

    def _with_known_symbols(self, expr: Expr, item: Item, free: Sequence[Any] = ()) -> Expr:
        """The expression; raises if it has symbols that are not in the system."""
        foreign = expr.free_symbols - self._symbols - set(free)
        for s in sorted((s for s in foreign if not isinstance(s, FrameJet | Prescribed)), key=str):
            available = ", ".join(map(str, (*self.system.positions, *self.system.parameters)))
            raise ModelError(f"{item.title} contains '{s}', which {self.system.name} does not have; it has t, {available}")
        return self.system.in_velocities(expr)

    @cached_property
    def _symbols(self) -> frozenset[Any]:
        """The symbols allowed in an expression of this system."""
        system = self.system
        rates = [d for q in system.positions for d in (q.d, q.dd)]
        return frozenset((t, *system.parameters, *system.positions, *rates, *system.velocities, *system.accelerations))

    def _resolve(self, target: Any, role: str, item: Item) -> Attached:
        if role == "gradient":
            constraint, point = target
            return self._gradient(constraint, point, item)
        if role == "surface":
            point = self._components(target[0], item)
            for e in point.position:
                self._with_known_symbols(e, item, target[1])
            return point
        attached = self._attached(target, item)
        self._in_plane = self._in_plane and attached.flat
        return attached

    def _attached(self, place: Any, item: Item) -> Attached:
        if isinstance(place, str):
            place = self._named(place, item)
        if isinstance(place, RigidBody):
            rotation = place.orientation.rotation
            plane = place.position[2] == 0 and rotation[2, 2] == 1
            return Attached(tuple(place.position.flat()), rotation, bool(plane))
        if isinstance(place, Particle):
            return Attached(tuple(place.position.flat()), None, bool(place.position[2] == 0))
        if isinstance(place, FrameSymbols):
            return Attached(tuple(place.position.flat()), place.rotation, False)
        return self._components(place, item)

    def _components(self, place: Any, item: Item) -> Attached:
        listed = isinstance(place, Sequence | sympy.MatrixBase)
        places = items_of(place, _ItemName(item, "a place of {}")) if listed else []
        if not 1 <= len(places) <= 3:
            raise ModelError(
                f"{item.title}: a place is two or three expressions, a body, a frame or the name of one; not {shown(place)}"
            )
        entries = [self._read(x, item) for x in places]
        flat = len(entries) < 3 or entries[2] == 0
        return Attached((*entries, *[sympy.Integer(0)] * (3 - len(entries))), None, flat)

    def _named(self, name: str, item: Item) -> Any:
        for body in self.system.bodies:
            if body.name == name:
                return body
        if isinstance(self.system, TreeSystem):
            return self.system.tree.frame(name)
        available = ", ".join(f"'{body.name}'" for body in self.system.bodies) or "none"
        raise ModelError(f"{item.title}: {self.system.name} has no body '{name}'; it has {available}")

    def _gradient(self, constraint: Any, place: Attached, item: Item) -> Attached:
        """∂f/∂r (∂f/∂ṙ of a velocity constraint) where the components of the place are coordinates."""
        system, coordinates = self.system, [x for x in place.position if x != 0]
        if not all(x in system.coordinates for x in coordinates):
            raise ModelError(f"{item.title}: give direction=, for the place is not made of coordinates themselves")
        names = {name for face in system.unilateral for name in (face.name, face.source.name)}
        if getattr(constraint, "name", constraint) in names:
            f, level = system.unilateral[system.face(constraint)].function, 0
        else:
            row = system.constraint(constraint)
            f, level = system.residuals[row], system.constraints[row].order
        derivative = lambda x: sympy.Integer(0) if x == 0 else sympy.diff(f, (x, x.d, x.dd)[level])
        return Attached(tuple(map(derivative, place.position)), None, place.flat)


__all__ = ["Parameter", "Scene"]
