"""Errors for unknown names, with suggestions, and for arguments of the wrong kind.

`checked_keywords` guards public functions and classes: a misspelt, an old or another library's keyword raises with the right
one, and so does a value that is not text or a boolean where one is annotated. `did_you_mean` ends the messages for all other
unknown names.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import wraps
from itertools import chain
from typing import Any, NoReturn, TypeVar, cast

import numpy as np

from appell.errors import ArgumentError, ModelError
from appell.reading import shown

F = TypeVar("F", bound=Callable[..., Any])

SYNONYMS: Mapping[str, tuple[str, ...]] = {
    "parameters": ("params", "param", "values", "constants", "p", "args"),
    "start": ("initial", "initial_conditions", "ic", "x0", "y0", "z0", "q0", "state", "initial_state"),
    "until": ("t_end", "tend", "end", "tmax", "t_max", "t_final", "tf", "duration", "stop_time", "t_span"),
    "since": ("t0", "t_start", "t_begin"),
    "times": ("t_eval", "t", "saveat"),
    "rtol": ("tol", "tolerance", "reltol"),
    "atol": ("abstol",),
    "step": ("dt", "h", "step_size", "stepsize", "timestep"),
    "method": ("solver", "integrator"),
    "progress": ("verbose", "show_progress", "progress_bar"),
    "kinetic": ("T", "kinetic_energy"),
    "potential": ("V", "potential_energy"),
    "forces": ("Q", "force"),
    "constraints": ("constraint",),
    "coordinates": ("q", "coords", "coordinate"),
    "restitution": ("e", "cor", "elasticity"),
    "coefficient": ("mu", "friction", "friction_coefficient"),
    "backend": ("device", "target"),
    "threads": ("n_jobs", "workers", "num_threads"),
    "stiffness": ("k", "spring_constant", "rate"),
    "damping": ("c", "d", "b", "viscosity"),
    "length": ("l0", "rest_length", "free_length"),
    "mass": ("m",),
    "position": ("r", "pos", "com"),
    "inertia": ("I", "J", "moment_of_inertia"),
    "stop": ("events", "event", "terminal"),
}
"""Keyword here → its names elsewhere."""
INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("l", "lagrangian", "lagrange"), "give kinetic=T and potential=V, of which L = T − V is made"),
    **dict.fromkeys(("damping", "dissipation"), "damping is a force, forces={x: -c*x.d}, or a load, loads=[ap.Damper(x, c)]"),
    "gravity": "weight is part of the potential, potential=m*g*z",
}
"""Keywords that a model does not have, with the way to write them instead."""


LONGEST_NAME = 100  # names longer than this are not compared


def did_you_mean(word: Any, known: Iterable[Any], *, also: Mapping[str, tuple[str, ...]] | None = None) -> str:
    """«; did you mean 'phi'?» if one of the known names is similar, else empty."""
    names, text = [str(name) for name in known], shown(word) if not isinstance(word, str) else word[:LONGEST_NAME]
    synonyms = [name for name, aliases in (also or {}).items() if name in names and text in aliases]
    folded = {name.casefold(): name for name in names}
    similar = synonyms or [folded[close] for close in get_close_matches(text.casefold(), folded, n=1, cutoff=0.6)]
    return f"; did you mean {similar[0]!r}?" if similar else ""


KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), "a text"),
    "bool": ((bool, np.bool_), "True or False"),
}
"""Annotation → accepted types, and their name in messages."""


def kind_of(annotation: Any) -> tuple[tuple[type, ...], str] | None:
    """The accepted types for an annotation: `str` and `bool`, each also with None."""
    text = str(annotation)
    while "[" in (shorter := re.sub(r"\[[^\[\]]*\]", "", text)) and shorter != text:
        text = shorter
    names = [name.strip() for name in shorter.split("|")]
    kinds = [KINDS[name] for name in names if name in KINDS]
    if len(kinds) != 1 or set(names) - {*KINDS, "None"}:
        return None
    types, label = kinds[0]
    return ((*types, type(None)), label) if "None" in names else (types, label)


def checked_keywords(**renamed: str) -> Callable[[F], F]:
    """Decorator of a public function or class: unknown keywords raise with the one that was probably meant, and so do values
    that are not text or booleans where required (`KINDS`).

    renamed: old keyword → new one.
    """

    def guard(target: F) -> F:
        function = target.__init__ if isinstance(target, type) else target
        parameters = inspect.signature(function).parameters.values()
        accepted = frozenset(p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)) - {"self"}
        open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
        name, order = target.__name__, [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        kinds = {p.name: kind for p in parameters if (kind := kind_of(p.annotation)) is not None}
        variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        required = [(i, p.name) for i, p in enumerate(parameters) if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]

        @wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if not options.keys() <= accepted:
                _refuse(name, options.keys() - accepted, accepted, renamed, open_ended)
            if (len(args) > len(order) and not variadic) or (options and not options.keys().isdisjoint(order[: len(args)])):
                raise ArgumentError(f"the order of the arguments is {name}({', '.join(_call(parameters))})")
            for keyword, value in chain(zip(order, args, strict=False), options.items()):
                if keyword in kinds and not isinstance(value, kinds[keyword][0]):
                    raise ModelError(f"{name}: {keyword}= is {kinds[keyword][1]}, not {shown(value)}")
            if len(args) < len(order) and (missing := [n for i, n in required if i >= len(args) and n not in options]):
                raise ArgumentError(f"{name} needs {' and '.join(missing)}: {name}({', '.join(_call(parameters))})")
            return function(*args, **options)

        if isinstance(target, type):
            target.__init__ = call  # type: ignore[method-assign]
            return cast(F, target)
        return cast(F, call)

    return guard


def _call(parameters: Iterable[inspect.Parameter]) -> Iterator[str]:
    """The arguments of a call as one writes them: those that are needed, and the names of the others."""
    for p in parameters:
        if p.name != "self" and p.kind is not p.VAR_KEYWORD:
            optional = p.kind is p.KEYWORD_ONLY or p.default is not p.empty
            yield f"*{p.name}" if p.kind is p.VAR_POSITIONAL else f"{p.name}=…" if optional else p.name


def _refuse(name: str, unknown: Iterable[str], accepted: frozenset[str], renamed: Mapping[str, str], open_ended: bool) -> None:
    for keyword in sorted(unknown):
        if keyword in renamed:
            raise ArgumentError(f"{name}: {keyword}= is now called {renamed[keyword]}=")
        if not open_ended:
            _unknown(name, keyword, accepted)


def _unknown(name: str, keyword: str, accepted: frozenset[str]) -> NoReturn:
    if keyword.casefold() in INSTEAD and "kinetic" in accepted:
        raise ArgumentError(f"{name}() has no argument {keyword}=; {INSTEAD[keyword.casefold()]}")
    hint = did_you_mean(keyword, sorted(accepted), also=SYNONYMS)
    raise ArgumentError(f"{name}() has no argument {keyword}={hint or '; it has ' + ', '.join(sorted(accepted))}")


__all__ = ["checked_keywords", "did_you_mean"]
