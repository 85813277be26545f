"""Forms, scenes and pages, as the fuzzer calls them."""

from __future__ import annotations

from typing import Any

from tests.hostile.models import START, VALUES, Target, bounced, folder, m, motion, oscillator, phi, skate, x, y

import appell as ap
from appell import scene


def _forms() -> dict[str, Target]:
    with_pseudo = ("appell", "hamel", "hamilton", "kane", "poincare_chetaev")
    alone = ("gauss", "nielsen", "tsenov", "udwadia_kalaba")
    found = {
        f"forms.{name}": Target(getattr(ap.forms, name), {"system": oscillator(), "pseudo": {"w": x.d}}, 0.2)
        for name in with_pseudo
    }
    found |= {f"forms.{name}": Target(getattr(ap.forms, name), {"system": oscillator()}, 0.15) for name in alone}
    equations = ap.forms.lagrange(oscillator())
    found |= {
        "forms.chaplygin": Target(ap.forms.chaplygin, {"system": skate(), "independent": None, "solved": None}, 0.15),
        "forms.voronets": Target(ap.forms.voronets, {"system": skate(), "independent": None}, 0.15),
        "forms.jourdain": Target(ap.forms.jourdain, {"system": skate(), "independent": None}, 0.15),
        "forms.routhian": Target(ap.forms.routhian, {"system": _with_cyclic(), "cyclic": [y]}, 0.2),
        "forms.register": Target(ap.forms.register, {"form": None}, 0.2),
        "equations.acceleration": Target(
            equations.acceleration, {"t": 0.0, "q": [1.0], "v": [0.0], "parameters": {"m": 1.0, "k": 1.0, "c": 0.1}}, 1
        ),
        "equations.evaluate": Target(
            equations.evaluate, {"state": {**START, **{s: 1.0 for s in oscillator().parameters}}, "precision": 30}, 0.5
        ),
        "equations.latex": Target(equations.latex, {"style": "simplified", "closing": False, "environment": "aligned"}, 0.5),
        "equations.text": Target(equations.text, {"style": "simplified", "closing": True}, 0.5),
        "equations.steps": Target(equations.steps().text, {"blank": True}, 0.3),
        "equations.steps in LaTeX": Target(equations.steps().latex, {"blank": False}, 0.2),
        "equations.solve": Target(equations.solve, {"simplify": True, "budget": 1.0}, 0.3),
        "equations.report": Target(equations.report, {"path": folder() / "e.html", "title": "t"}, 0.1),
    }
    return found


def _scenes() -> dict[str, Target]:
    """Each item in a scene, whose places are read there."""

    def drawn(kind: Any) -> Any:
        return lambda **given: ap.Scene(oscillator(), [kind(**given)])

    at, colour = [x, 0, 0], {"colour": "#ff0000", "name": "n"}
    turned = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    return {
        "scene.Arrow": Target(drawn(scene.Arrow), {"at": at, "vector": [x, 0], "scale": 1.0, **colour}, 0.7),
        "scene.Box": Target(drawn(scene.Box), {"at": at, "sizes": [1, 2, 3], "turned": turned, "opacity": 0.5, **colour}, 0.7),
        "scene.Curve": Target(
            lambda a, b, **given: ap.Scene(oscillator(), [scene.Curve(a, b, **given)]),
            {"a": [0, 0], "b": [x, 0], "dashed": True, "closed": False, "fill": "", "width": 1.0, **colour},
            0.7,
        ),
        "scene.Cylinder": Target(drawn(scene.Cylinder), {"at": at, "radius": 1, "length": m, "axis": "z", "turned": None}, 0.7),
        "scene.Disc": Target(
            drawn(scene.Disc), {"at": at, "radius": 1, "axis": "z", "thickness": 0.1, "spokes": 3, "turned": x}, 0.7
        ),
        "scene.Ellipsoid": Target(drawn(scene.Ellipsoid), {"at": at, "radii": [1, 2, 3], "opacity": 1.0, **colour}, 0.7),
        "scene.Floor": Target(drawn(scene.Floor), {"at": [0, 0], "normal": [0, 1], "length": 2, **colour}, 0.7),
        "scene.Frame": Target(drawn(scene.Frame), {"at": at, "size": 1, "turned": turned, "name": "f"}, 0.7),
        "scene.Label": Target(drawn(scene.Label), {"at": at, "text": "a", "colour": "ink"}, 0.7),
        "scene.Reaction": Target(
            drawn(scene.Reaction), {"constraint": "c", "at": at, "direction": [0, 1], "scale": 1.0, **colour}, 0.5
        ),
        "scene.Sphere": Target(drawn(scene.Sphere), {"at": at, "radius": 0.1, "opacity": 0.5, **colour}, 0.7),
        "scene.spring": Target(drawn(scene.Spring), {"a": [0, 0], "b": [x, 0], "coils": 5, "width": 0.1, **colour}, 0.7),
        "scene.Surface": Target(
            drawn(scene.Surface),
            {"position": [y, phi, y * phi], "over": {y: (-1.0, 1.0), phi: (0.0, 1.0)}, "points": 5, **colour},
            0.7,
        ),
        "scene.Thread": Target(drawn(scene.Thread), {"a": [0, 0], "b": [x, 0], "length": 2, **colour}, 0.7),
        "scene.Trail": Target(drawn(scene.Trail), {"at": at, **colour}, 0.7),
        "scene.Wall": Target(drawn(scene.Wall), {"at": [1, 0], "normal": [-1, 0], "length": 1, **colour}, 0.7),
        "scene.Wheel": Target(drawn(scene.Wheel), {"at": at, "radius": 1, "axis": "z", "thickness": None, "spokes": 4}, 0.7),
        "scene.MeshFile": Target(
            drawn(scene.MeshFile), {"at": at, "path": folder() / "none.obj", "scale": [1, 1, 1], "turned": None}, 0.3
        ),
        "Scene.of": Target(ap.Scene.of, {"system": oscillator()}, 0.5),
    }


def _motions() -> dict[str, Target]:
    return {
        "motion.fine": Target(motion().fine, {"points": 3}, 0.7),
        "motion.to_csv": Target(motion().to_csv, {"path": folder() / "m.csv"}, 0.3),
        "motion.symbol": Target(motion().symbol, {"name": "x"}, 0.5),
        "motion.release": Target(bounced().release, {"constraint": "floor"}, 0.1),
        "motion.is_face": Target(bounced().is_face, {"key": "floor"}, 0.5),
        "motion.plot against": Target(
            lambda what, **given: motion().plot(what, **given), {"what": "x", "against": x.d, "compare": [], "axes": None}, 0.05
        ),
        "motion.plot_phase": Target(lambda what: motion().plot_phase(what), {"what": x}, 0.05),
        "motion.plot_path": Target(motion().plot_path, {"x": x, "y": x.d, "compare": ()}, 0.05),
        "motion.animate": Target(motion().animate, {"path": None, "scene": None, "fps": 5.0}, 0.03),
        "load, bounded": Target(ap.load, {"path": folder() / "none.nc", "largest": 2**20}, 0.5),
        "handout with a motion": Target(
            ap.handout, {"system": oscillator(), "path": folder() / "h.html", "motion": motion(), "scene": None}, 0.03
        ),
        "simulate prescribed": Target(_with_input, {"value": ([0.0, 0.5, 1.0], [0.0, 1.0, 0.0])}, 0.3),
        "simulate prescribed by a function": Target(_with_input, {"value": (lambda t: t, (0.0, 1.0))}, 0.2),
        "in_mode of friction": Target(_with_friction().in_mode, {"mode": {"rub": "stick"}, "signs": {}}, 0.3),
        "zoo.bouncing_ball": Target(ap.zoo.bouncing_ball, {"restitution": 0.5}, 0.2),
        "zoo.n_pendulum": Target(ap.zoo.n_pendulum, {"n": 1}, 0.1),
        "backend": Target(lambda name: ap.compile(oscillator(), VALUES, backend=name), {"name": "vm"}, 0.2),
    }


def _with_friction() -> ap.System:
    return ap.System([x], m * x.d**2 / 2, constraints=[ap.Friction(x.d, limit=1.0, name="rub")], name="rubbed")


def _with_cyclic() -> ap.System:
    return ap.System([x, y], m * (x.d**2 + (1 + x**2) * y.d**2) / 2, x**2, name="with a cyclic coordinate")


def _with_input(value: Any) -> Any:
    f = ap.prescribed("f")
    system = ap.System([x], m * x.d**2 / 2, 0, {x: f}, name="pushed")
    return ap.simulate(system, {x: 0.0}, 0.1, {m: 1.0, f: value}, backend="vm", rtol=1e-5)


def page_targets() -> dict[str, Any]:
    return {**_forms(), **_scenes(), **_motions()}
