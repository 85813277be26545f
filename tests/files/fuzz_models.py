"""Hostile expressions and model files: only refusals of the library come out, and quickly.

    python -m tests.files.fuzz_models --count 100000 --start 0

Of a hundred inputs 89 are expressions with characters changed, five are made by the grammar, three are numbers with their unit
changed, two are files with bytes changed, and one is a file in which a value is another one.
"""

from __future__ import annotations

import argparse
import random
import signal
import time
from collections import Counter
from pathlib import Path

import appell as ap
from appell.files import read_model
from appell.files.written import FUNCTIONS, read_expression
from appell.model.units import quantity

PATIENCE = 2.0
"""Seconds of one input."""
FOLDER = Path(__file__).parents[2] / "examples" / "models"
MODELS = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.toml"))]
SMALL = [text for text in MODELS if len(text) < 900]  # the systems that are made in a few milliseconds
x, y, phi = ap.coordinates("x y phi")
m, g = ap.parameters("m g", positive=True)
NAMES = {"x": x, "y": y, "phi": phi, "m": m, "g": g}
ATOMS = "x y' phi'' m g t pi 0 1 7 2.5 1e300 1e-300 999999999 0.0 `x` zz -1 10^9".split()
JUNK = [*"()+-*/^'`\"<>=!,.;:[]{}\\ \n\t0123456789eExyπφ·−∞\0", "**", "and", "or", "not", "''", "exp(", "piecewise("]

QUANTITIES = ["9.81 m/s^2", "250 N/mm", "3 deg", "-0.5", "7.2e3 km/h", ".5 kg*m^2", "1e-3 1/s", "4 N·s/m"]
VALUES = """true; []; {}; nan; -inf; 1e400; 10000000000000000000000; 1979-05-27; "3 kg"; ["x", 3, [{}]]; "\\u0000";
    "`x`"; "x'''"; {value = 1, unit = 'm'}; {table = 'a.csv'}; "multiplier(a)"; {from = 1, to = 2, points = 3};
    "1e999 m"; "-"; [["x"], "y"]"""
EXCHANGED = [value.strip() for value in VALUES.split(";")]


def expression(draw: random.Random, depth: int) -> str:
    """A text that the grammar may make."""
    if depth == 0:
        return draw.choice(ATOMS)
    a, b = expression(draw, depth - 1), expression(draw, depth - 1)
    kind = draw.randrange(8)
    name = draw.choice([*FUNCTIONS, "heaviside", "dot", "multiplier", "nothing"])
    return [
        f"{a} + {b}", f"{a}*{b}", f"({a})/({b})", f"({a})^({b})", f"{name}({a})", f"{name}({a}, {b})",
        f"piecewise({a}, {b} < {a} and not {b} > 1, {b})", f"-({a})",
    ][kind]  # fmt: skip


def damaged(draw: random.Random, text: str) -> str:
    """The text with some characters replaced, put in, left out or repeated."""
    letters = list(text)
    for _ in range(draw.choice([1, 1, 2, 5, 20])):
        place = draw.randrange(len(letters) + 1)
        letters[place : place + draw.randrange(3)] = draw.choice(JUNK) * draw.choice([1, 1, 1, 3, 200])
    return "".join(letters)


def exchanged(draw: random.Random, text: str) -> str:
    """The file with the value of one line exchanged for another one, or for an expression."""
    lines = text.splitlines()
    place = draw.choice([i for i, line in enumerate(lines) if "=" in line])
    key = lines[place].partition("=")[0]
    other = draw.choice([*EXCHANGED, f'"{expression(draw, 2)}"', draw.choice(lines).partition("=")[2]])
    lines[place] = f"{key}= {other}"
    return "\n".join([*lines, ""])


def attempt(number: int) -> str:
    """What came of one input: "taken", or the kind of error; `AssertionError` where it is not the library's."""
    draw = random.Random(number)
    kind = number % 100
    if kind < 94:
        made = expression(draw, draw.choice([1, 2, 2, 3] if kind > 4 else [1, 2, 3, 4]))
        text = damaged(draw, made) if kind > 4 else made
        act = lambda: read_expression(text, NAMES)
    elif kind < 97:
        text = damaged(draw, draw.choice(QUANTITIES))
        act = lambda: quantity(text)
    else:
        text = damaged(draw, draw.choice(MODELS)) if kind < 99 else exchanged(draw, draw.choice(SMALL))
        act = lambda: read_model(text + "\n")
    begin = time.process_time()
    try:
        act()
        found = "taken"
    except ap.AppellError as error:
        found = type(error).__name__
    except Exception as error:
        raise AssertionError(f"input {number}: {type(error).__name__}: {str(error)[:200]}") from error
    spent = time.process_time() - begin
    assert spent < PATIENCE, f"input {number} took {spent:.1f} s"
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--start", type=int, default=0)
    given = parser.parse_args()
    signal.signal(signal.SIGALRM, _late)
    found: Counter[str] = Counter()
    wrong = 0
    for number in range(given.start, given.start + given.count):
        signal.alarm(60)
        try:
            found[attempt(number)] += 1
        except AssertionError as error:
            wrong += 1
            print(error, flush=True)
    signal.alarm(0)
    print(f"{given.count} inputs, {wrong} wrong; {dict(found)}")
    raise SystemExit(bool(wrong))


def _late(*_: object) -> None:
    raise AssertionError("an input took a minute")


if __name__ == "__main__":
    main()
