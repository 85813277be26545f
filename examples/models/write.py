"""Writes the model file of every system of the zoo beside this script."""

from __future__ import annotations

from pathlib import Path

import appell as ap

HERE = Path(__file__).parent


def texts() -> dict[str, str]:
    """Name → text of its model file."""
    found = {}
    for name, make in {**ap.zoo.ALL, **ap.zoo.FRICTION, **ap.zoo.WALKERS, **ap.zoo.LARGE}.items():
        example = make()
        found[name] = ap.files.model_text(
            example.system, parameters=example.parameters, start=example.start, until=example.until, pseudo=example.pseudo,
            reference=example.reference,
        )  # fmt: skip
    return found


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / f"{name}.toml").write_text(text, encoding="utf-8")
