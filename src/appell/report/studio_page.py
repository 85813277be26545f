"""`ap.studio`: choose a system, change its parameters and start, and see equations, animation and curves follow."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import appell as ap  # the file reader is loaded when needed
from appell import zoo
from appell.errors import AppellError, ConstraintError, ModelError
from appell.forms import FORMS
from appell.jets import Jet
from appell.model import System
from appell.model.described import system_of
from appell.report import model_page
from appell.report.html import missing
from appell.report.panels import Panels
from appell.report.server import serve, slider
from appell.report.sheet import handout
from appell.scene import Scene
from appell.scene.film import film
from appell.show.packing import Packer, json_text
from appell.show.web import describe
from appell.simulate.simulate import simulate
from appell.simulate.start import consistent
from appell.spelling import did_you_mean
from appell.typeset import text
from appell.zoo.example import Example

STUDIO_FRAMES = 240
"""Frames of a film: few, because every move of a slider makes a new one."""
EVERY = 0.5
"""Seconds between checks of a model file for changes."""
SLIDERS = 12
"""Number of coordinates up to which every start value has a slider."""
EXAMPLES = {**zoo.ALL, **zoo.ROBOTS, **zoo.FRICTION, **zoo.WALKERS}
"""The examples of the zoo in the studio."""


def studio(model: Any = None, *, port: int = 0, open: bool = True) -> None:
    """A page in the browser to play with a system: sliders, equations, animation, curves, exports. Runs until interrupted.

    Parameters
    ----------
    model: a `System`, a `Tree`, an `Example`, the name of one of the zoo, or the path of a model file (.toml), which is read
        again whenever it changes; by default the zoo to choose from.
    port: 0 takes any that is free. The page is on the loopback address, and its address carries a token.
    open: whether to open the browser.
    """
    chosen, fixed = example_of(model), model is not None and (not isinstance(model, str) or _is_file(model))
    path = Path(model) if isinstance(model, Path) or (isinstance(model, str) and _is_file(model)) else None
    page = lambda ui: StudioPage(ui, chosen if path is None else example_of(path), fixed=fixed, path=path).build()
    serve(page, port=port, open=open, title="appell studio")


def example_of(given: Any) -> Example:
    """The example that the studio opens with."""
    examples = EXAMPLES
    if given is None:
        return zoo.pendulum()
    if isinstance(given, Example):
        return given
    if isinstance(given, Path) or (isinstance(given, str) and _is_file(given)):
        return _from_file(Path(given))
    if isinstance(given, str):
        if given not in examples:
            raise ModelError(f"the zoo has no '{given}'; it has {', '.join(examples)}{did_you_mean(given, examples)}")
        return examples[given]()
    system = system_of(given, "ap.studio", also=" or the name of a zoo system")
    return Example(system=system, parameters={p: 1.0 for p in system.parameters}, start={}, reference="")


def _is_file(name: str) -> bool:
    """Whether a text names a model file."""
    return name.endswith(".toml")


@dataclass(frozen=True, kw_only=True)
class ExampleOfFile(Example):
    """A model file as an example: its path, its prescribed functions, which have no slider, and its units."""

    path: Path
    functions: Mapping[Any, Any]
    units: Mapping[str, Any]


def _from_file(path: Path) -> Example:
    """A model file as an example."""
    model = ap.read_model(path)
    functions = {s: x for s, x in model.parameters.items() if s in model.system.prescribed}
    letters = {s: x for s, x in model.parameters.items() if s not in functions}
    pseudo = None if model.pseudo is None else dict(model.pseudo)
    return ExampleOfFile(
        system=model.system, parameters=letters, start=dict(model.start), until=model.until, reference=model.reference,
        scene=model.scene, pseudo=pseudo, path=path, functions=functions, units=model.units,
    )  # fmt: skip


@dataclass
class StudioPage:
    """One visitor's page: what is chosen, and the elements that show it."""

    ui: Any
    example: Example
    fixed: bool
    form: str = "lagrange"
    values: dict[Any, float] = field(default_factory=dict)
    start: dict[Any, float] = field(default_factory=dict)
    until: float = 10.0
    motion: Any = None
    path: Path | None = None  # of the model file, reread when it changes
    modified: float = 0.0  # modification time of the file
    html: str = ""  # around the curves
    turn: int = 0  # number of changes of it

    def build(self) -> None:
        """The frame of the page; `_open` fills it for a system."""
        ui = self.ui
        with ui.element("main"):
            ui.html("<h1>appell studio</h1>", sanitize=False)
            with ui.row().classes("controls"):
                if not self.fixed:
                    names = {name: name.replace("_", " ") for name in sorted(EXAMPLES)}
                    current, choose = _zoo_name(self.example), lambda e: self._choose(e.value)
                    ui.select(names, value=current, label="System", on_change=choose).props('aria-label="System"')
                form = ui.select(list(FORMS), value=self.form, label="Equations", on_change=lambda e: self._equations(e.value))
                form.props('aria-label="Form of the equations"')
                for label, export in self._exports().items():
                    ui.button(label, on_click=export).props("flat dense no-caps")
            self.error = ui.label("").classes("failure").props('role="alert"')
            self.film_area = ui.element("div").classes("looking")
            self.text = ui.element("div")
        self._open(self.example)
        if self.path is not None:
            self.modified = _modified(self.path)
            self.ui.timer(EVERY, self._reload)

    def _reload(self) -> None:
        """Rereads the model file if it has changed; an error is shown, and the page does not change."""
        assert self.path is not None
        changed = _modified(self.path)
        if changed == self.modified:
            return
        self.modified = changed
        try:
            self._open(example_of(self.path))
        except AppellError as error:
            self._show_error(error)

    def _choose(self, name: str) -> None:
        try:
            self._open(example_of(name))
        except AppellError as error:
            self._show_error(error)

    def _open(self, example: Example) -> None:
        self.example, self.until = example, example.until
        self.values, self.start = dict(example.parameters), dict(example.start)
        self.scene = Scene.of(example.system)
        self.film_area.clear()
        with self.film_area:
            with self.ui.element("div").classes("moving"):
                self.ui.html('<div id="film"></div>', sanitize=False)
                self._sliders()
            self.curves = self.ui.html("", sanitize=False)
        self.ui.timer(0.01, self._start, once=True)  # once a browser is connected

    async def _start(self) -> None:
        self._run(first=True)
        await self._equations(self.form)

    def _sliders(self) -> None:
        system = self.example.system
        for p, value in self.values.items():
            self._slider(symbol_text(p), value, lambda x, p=p: self.values.__setitem__(p, x), positive=bool(p.is_positive))
        if system.nq <= SLIDERS:
            for s in (*system.positions, *system.velocities):
                value = float(self.start.get(s, getattr(s, "start", 0.0)))
                self._slider(
                    f"{symbol_text(s)} at the start", value, lambda x, s=s: self.start.__setitem__(s, x), positive=False
                )
        self._slider("until", self.until, lambda x: setattr(self, "until", x), positive=True)

    def _slider(self, name: str, value: float, assign: Callable[[float], Any], *, positive: bool) -> None:
        reach = 2 * abs(value) or 3.0

        def moved(x: float) -> None:
            assign(x)
            self._run()

        slider(self.ui, name, reach / 100 if positive else -reach, reach, value, moved)

    # -- updates -------------------------------------------------------------------------------------------------------

    def _show_error(self, error: Exception | None) -> None:
        self.error.set_text("" if error is None else f"{type(error).__name__}: {error}")

    def _run(self, *, first: bool = False) -> None:
        """Simulates and sends film and curves; an error is shown, and the page does not change."""
        try:
            from_file = self.example if isinstance(self.example, ExampleOfFile) else None
            values = {**self.values, **({} if from_file is None else from_file.functions)}
            motion = run(self.example.system, values, self.start, self.until)
            self.motion = motion if from_file is None else replace(motion, units=from_file.units)
            text, html = picture(self.scene, self.motion)
        except (AppellError, ValueError, ArithmeticError) as error:
            self._show_error(error)
            return
        self._show_error(None)
        if first or html != self.html:  # a panel has appeared or disappeared: a residual, a contact
            self.html, self.turn = html, self.turn + 1
            self.curves.set_content(f'<div id="curves-{self.turn}">{html}</div>')
        self.ui.run_javascript(f"appell.show({text}, 'curves-{self.turn}')")

    async def _equations(self, form: str) -> None:
        """Derives the equations in the background; the page stays responsive."""
        from nicegui import run as beside

        self.form = form
        content = await beside.io_bound(_equation_html, self.example, form)
        if form != self.form:
            return
        self.text.clear()
        with self.text:
            self.ui.html(f"<h2>Equations of motion</h2>{content}", sanitize=False)
            source = f"<p>{escape(self.example.reference)}</p>"
            self.ui.html(f"<h2>Model</h2>{model_page.model_html(self.example.system)}{source}", sanitize=False)
        self.ui.run_javascript("setTimeout(() => appell.copying && appell.copying(), 200)")

    # -- exports -------------------------------------------------------------------------------------------------------

    def _exports(self) -> Mapping[str, Callable[[], Any]]:
        return {
            "Report": lambda: self._file("report.html", self._report),
            "LaTeX": lambda: self._file("handout.tex", self._tex),
            "Animation": lambda: self._file("animation.gif", lambda path: self.motion.animate(path, scene=self.scene)),
            "Python": lambda: self.ui.download(self._python().encode(), "motion.py"),
        }

    def _report(self, path: Path) -> None:
        self.motion.report(path, scene=self.scene, forms=[self.form])

    def _tex(self, path: Path) -> None:
        handout(self.example.system, path, forms=[self.form])

    def _python(self) -> str:
        return python_text(self.example, self.values, self.start, self.until)

    async def _file(self, name: str, make: Callable[[Path], Any]) -> None:
        """Writes a file in the background; the page stays responsive and shows the progress."""
        from nicegui import run as beside

        working = self.ui.notification(f"Writing {name} …", spinner=True, timeout=None, position="bottom-right")
        try:
            with TemporaryDirectory() as folder:
                path = Path(folder) / name
                await beside.io_bound(make, path)
                self.ui.download(path.read_bytes(), name)
        except (AppellError, OSError) as error:
            self._show_error(error)
        finally:
            working.dismiss()


def symbol_text(symbol: Any) -> str:
    """A symbol as shown on a page: ẋ, φ, q₁."""
    return text(symbol.letter, symbol.order) if isinstance(symbol, Jet) else text(str(symbol))


def _modified(path: Path) -> float:
    """The modification time of a file; 0 while it does not exist, as editors briefly remove it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _equation_html(example: Example, form: str) -> str:
    (equations,) = model_page.derived_forms(example.system, [form], example.pseudo)
    return missing(equations) if isinstance(equations, str) else model_page.equation_text(equations)


def _zoo_name(example: Example) -> str | None:
    """The name of its maker in the zoo; only makers with a word in common are tried, since trying all takes seconds."""
    words_of = lambda name: set(re.findall(r"[^\W_]+", name.casefold()))
    shared = {name: len(words_of(name) & words_of(example.name)) for name in EXAMPLES}
    users_own = not example.reference  # a user's system is not from the zoo, whatever its name
    candidates = sorted((name for name in EXAMPLES if shared[name] or not users_own), key=lambda name: -shared[name])
    return next((name for name in candidates if EXAMPLES[name]().name == example.name), None)


def run(system: System, values: Mapping[Any, float], start: Mapping[Any, float], until: float) -> Any:
    """The motion; a start off the constraints is projected onto them."""
    try:
        return simulate(system, start=dict(start), until=until, parameters=dict(values))
    except ConstraintError:
        return simulate(system, start=consistent(system, dict(start), dict(values)), until=until, parameters=dict(values))


def picture(scene: Scene, motion: Any) -> tuple[str, str]:
    """(JSON for `appell.show`, HTML of the curves)."""
    packer = Packer()
    animation = film(scene, motion, frames=STUDIO_FRAMES)
    panels = Panels(motion, packer)
    html = panels.curves()
    description = {"film": describe(animation, packer), "panels": panels.described}
    return json_text({"description": description, "numbers": packer.numbers()}), html


def python_text(example: Example, values: Mapping[Any, float], start: Mapping[Any, float], until: float) -> str:
    """A script that computes the displayed motion."""
    maker = _zoo_name(example)
    preamble = f"example = ap.zoo.{maker}()\nsystem = example.system" if maker else "system = ...  # your system"
    defaults = ""
    if isinstance(example, ExampleOfFile):
        preamble = f"model = ap.read_model({str(example.path)!r})\nsystem = model.system"
        defaults = "**{str(s): x for s, x in model.parameters.items()}, "
    table = lambda pairs: "{" + ", ".join(f'"{key}": {float(value)!r}' for key, value in pairs.items()) + "}"
    state = "{s: start[str(s)] for s in (*system.positions, *system.velocities) if str(s) in start}"
    return (
        f"import appell as ap\n\n{preamble}\nparameters = {{{defaults}**{table(values)}}}\nstart = {table(start)}\n"
        f"motion = ap.simulate(system, {state}, {until!r}, parameters)\n"
        'print(motion)\nmotion.report("motion.html")\n'
    )


__all__ = ["example_of", "studio"]
