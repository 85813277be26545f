"""Random models of every kind through a file and back: the same system to the digest, the same text once more.

    python -m tests.files.random_models [count] [first seed]
"""

from __future__ import annotations

import random
import sys
from typing import Any

import sympy
from sympy import (
    Abs,
    Heaviside,
    Max,
    Min,
    Mod,
    Piecewise,
    Rational,
    atan,
    atan2,
    cos,
    cosh,
    exp,
    floor,
    log,
    pi,
    sign,
    sin,
    sqrt,
    tanh,
)

import appell as ap
from appell.files import model_text, read_model
from appell.model.fingerprint import fingerprint

LETTERS = "x y z phi theta u w ξ φ q_1 q2 alpha_long min t_0 and_then piecewise N λ_1 x_d E I".split()
PARAMETERS = "m J l k c g mu a b sqrt_2 ρ not_so Ω omega0 e_n".split()


class Draw:
    """Random pieces of a model over its letters."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.letters = self.rng.sample(LETTERS, len(LETTERS))
        self.coordinates = [ap.coordinates(self.letters.pop()) for _ in range(self.rng.randint(1, 4))]
        self.parameters = [self._parameter(name) for name in self.rng.sample(PARAMETERS, self.rng.randint(1, 6))]
        self.states: list[Any] = []

    def _parameter(self, name: str) -> Any:
        return ap.parameters(name, **self.rng.choice([{"positive": True}, {"positive": True}, {}, {"nonnegative": True}]))

    def number(self) -> Any:
        rng = self.rng
        return rng.choice([rng.randint(1, 9), Rational(rng.randint(1, 9), rng.randint(2, 9)), round(rng.uniform(0.01, 9), 3),
                           rng.uniform(1, 2), sympy.Float(rng.uniform(1, 2)), pi / 3, sqrt(2), 1e-7, 1e9])  # fmt: skip

    def smooth(self, depth: int = 2, velocities: bool = False) -> Any:
        """A smooth bounded-looking expression of coordinates and parameters."""
        rng, q = self.rng, self.rng.choice(self.coordinates)
        q = q.d if velocities and rng.random() < 0.4 else q
        if depth == 0:
            return rng.choice([q, q, rng.choice(self.parameters), self.number()])
        one, two = self.smooth(depth - 1, velocities), self.smooth(depth - 1, velocities)
        return rng.choice([
            lambda: one + two, lambda: one * two, lambda: one - 2 * two, lambda: sin(one), lambda: cos(two), lambda: one**2,
            lambda: sqrt(1 + one**2), lambda: exp(-((one / 10**9) ** 2)),
            lambda: tanh(one), lambda: atan(two), lambda: 1 / (2 + one**2),
            lambda: log(1 + two**2), lambda: cosh(tanh(one) / 5), lambda: (1 + one**2) ** Rational(-3, 2), lambda: -one,
            lambda: one / (5 * (2 + two**2)), lambda: atan2(one, 1 + two**2), lambda: sympy.factor_terms(3 * one + 6 * two),
            lambda: sympy.Mul(2, 1 + q**2 + two, evaluate=False), lambda: sympy.sinc(one), lambda: 2.5 ** -tanh(one),
            lambda: sympy.sech(tanh(two)) + sympy.erf(one),
        ])()  # fmt: skip

    def force(self) -> Any:
        """A force, smooth or not, of time and velocities too."""
        rng, one = self.rng, self.smooth(2, velocities=True)
        return rng.choice([
            lambda: one, lambda: one * sin(3 * ap.t), lambda: Piecewise((one, ap.t < 2), (0, True)),
            lambda: Piecewise((one, (ap.t > 1) & (ap.t <= 3)), (-one, ap.t > 5), (self.number(), True)), lambda: Abs(one),
            lambda: Min(one, self.number()), lambda: one * Heaviside(ap.t - 1, Rational(1, 2)), lambda: Mod(ap.t, 2) * one,
            lambda: floor(ap.t) * one, lambda: -one * Abs(one), lambda: Max(one, 0), lambda: sign(one),
        ])()  # fmt: skip

    def kinetic(self) -> Any:
        T = sum((self.number() if self.rng.random() < 0.3 else self._mass()) * q.d**2 for q in self.coordinates) / 2
        if len(self.coordinates) > 1 and self.rng.random() < 0.5:
            a, b = self.rng.sample(self.coordinates, 2)
            T += Rational(1, 100) * a.d * b.d * cos(a - b)
        return T

    def _mass(self) -> Any:
        positive = [p for p in self.parameters if p.is_positive]
        return self.rng.choice(positive) if positive else 2 + cos(self.rng.choice(self.coordinates))

    def rows(self) -> list[Any]:
        rng, found = self.rng, []
        names = iter(["row", "left wall", "Wand ü", "stop 2", 'a "quoted" one', "sole", "rub", "back\\slash"])
        if len(self.coordinates) > 2 and rng.random() < 0.6:
            a, b, c = rng.sample(self.coordinates, 3)
            row = rng.choice([a.d * sin(c) - b.d * cos(c), a - b**2, a.d - c * b.d, a + 2 * b - sin(c), a.dd - b.d * c.d])
            kept = {} if rng.random() < 0.8 else {"reaction": {a: 1, b: self.smooth(1)}}
            found.append(rng.choice([row, ap.Constraint(row, next(names), **kept)]))
        if rng.random() < 0.5:
            q = rng.choice(self.coordinates)
            e = rng.choice([1, 0, Rational(1, 2), 0.73])
            found.append(rng.choice([
                lambda: ap.Unilateral(q + 5 + sin(ap.t) / 3, next(names), e), lambda: ap.Unilateral(q + 7, name=next(names)),
                lambda: ap.Between(-3, q, 4, next(names), e),
                lambda: ap.Between(-2 - sin(ap.t) / 9, 2 * q, self.number() + 5, next(names)),
            ])())  # fmt: skip
        if rng.random() < 0.5:
            q = rng.choice(self.coordinates)
            walls = [row for row in found if isinstance(row, ap.Unilateral)]
            if walls and rng.random() < 0.6:
                law = rng.choice(["newton", "poisson", "stronge"])
                pressed = rng.choice([walls[0], walls[0].name])
                found.append(ap.Friction(q.d, normal=pressed, coefficient=self._mass(), law=law, name=next(names)))
            else:
                slip = q.d - rng.choice([0, Rational(1, 5), sin(ap.t)])
                more = rng.choice([{}, {}, {"regularise": 0.01}])
                slip = [slip, *(p.d for p in self.coordinates if p != q)][: rng.choice([1, 1, 2])]
                found.append(ap.Friction(slip, limit=self.number(), name=next(names), **more))
        if rng.random() < 0.15:
            q, p = rng.choice(self.coordinates), rng.choice(self.coordinates)
            found.append(ap.Reset(q + 9 - p / 7, {q.d: -q.d / 2, p: p + rng.choice([0, self.smooth(1)])}, "jump `a`"))
        return found

    def bodies(self) -> list[Any]:
        rng, q = self.rng, self.coordinates
        pick = lambda: rng.choice(q)
        made = []
        if rng.random() < 0.3:
            made.append(ap.Particle(self._mass(), [pick() + sin(pick()), pick(), 0], name="bob"))
        if rng.random() < 0.3:
            attitude = rng.choice([pick(), ap.euler([pick(), pick() + 1, 2 * pick()], rng.choice(["zxz", "xyz", "ZYX"]))])
            place, J = [pick(), 0, cos(pick())], sympy.diag(self.number(), 2, 3)
            made.append(ap.RigidBody(self._mass(), J, place, attitude, name="slab"))
        return made

    def loads(self, bodies: list[Any]) -> list[Any]:
        rng, q, made = self.rng, self.rng.choice(self.coordinates), []
        if rng.random() < 0.2:
            made.append(ap.Spring(q, self.number(), self.number(), name="coil"))
        if rng.random() < 0.2:
            made.append(ap.Damper(q, self.number(), name="dashpot"))
        if bodies and rng.random() < 0.5:
            made.append(ap.Force([self.smooth(1), 0, self.number()], at=bodies[0].position))
        if len(bodies) > 1 and rng.random() < 0.5:
            made.append(ap.Torque([0, 0, self.smooth(1)], on=bodies[1], frame=rng.choice(["space", "body"])))
        return made


def random_model(seed: int) -> tuple[ap.System, dict[Any, float], dict[Any, float], dict[str, Any] | None]:
    """A system with values, a start and pseudo-velocities; `ap.AppellError` where the draw is no model."""
    draw = Draw(seed)
    rng, bodies = draw.rng, draw.bodies()
    forces = {q: draw.force() for q in draw.coordinates if rng.random() < 0.4}
    more: dict[str, Any] = {}
    functions: dict[Any, Any] = {}
    if rng.random() < 0.2:
        current = ap.states(draw.letters.pop())
        more["rates"] = {current: -current + draw.smooth(1, velocities=True)}
        forces[draw.coordinates[0]] = forces.get(draw.coordinates[0], 0) + current
    rows = draw.rows()
    rng.shuffle(rows)
    named = [row for row in rows if isinstance(row, ap.Constraint | ap.Unilateral)]
    if named and rng.random() < 0.2:
        forces[draw.coordinates[-1]] = -Rational(1, 50) * named[0].multiplier
    if rng.random() < 0.2:
        pushed = ap.prescribed(draw.letters.pop())
        first, kinked = draw.coordinates[0], Piecewise((0, ap.t < 1), (ap.t - 1, True))
        forces[first] = forces.get(first, 0) + rng.choice([pushed, pushed.d, draw.smooth(1) * pushed])
        functions = {pushed: rng.choice([sin(3 * ap.t), draw.parameters[0] * ap.t**2, kinked, 2.5])}
    turned = [ap.quaternion(draw.letters.pop())] if rng.random() < 0.1 else []
    if turned:
        bodies.append(ap.RigidBody(2, sympy.diag(1, 2, 3), [0, 0, 0], turned[0], name="top"))
    potential = draw.smooth(3) if rng.random() < 0.8 else 0
    system = ap.System(
        rng.choice([[*draw.coordinates, *turned], [*turned, *draw.coordinates]]),
        draw.kinetic(), potential, forces=forces, constraints=rows, bodies=bodies,
        loads=draw.loads(bodies), name=rng.choice(["model", "Model Nr. 1", "ü \\ 'x'"]), **more,
    )  # fmt: skip
    inside = {s for e in functions.values() if isinstance(e, sympy.Basic) for s in e.free_symbols & {*draw.parameters}}
    every = sorted({*system.parameters, *inside}, key=str)
    values = {p: rng.choice([1.0, 0.1 + rng.random(), 3.0, 1e-3]) for p in every} | functions
    start = {s: rng.uniform(-1, 1) for s in (*system.coordinates, *system.velocities) if rng.random() < 0.5}
    pseudo = {f"pi_{i}": q.d * (2 + cos(q)) for i, q in enumerate(draw.coordinates)} if rng.random() < 0.2 else None
    return system, values, start, pseudo


def round_trip(seed: int) -> str:
    """"same", "no model" or what went wrong."""
    try:
        system, values, start, pseudo = random_model(seed)
    except ap.AppellError:
        return "no model"
    try:
        text = model_text(system, parameters=values, start=start, pseudo=pseudo)
    except ap.ModelError as error:
        if "smaller than a float64" in str(error):  # exp(-1e18), which no run can tell from zero
            return "no model"
        raise
    model = read_model(text)
    if fingerprint(model.system) != fingerprint(system):
        return f"another system:\n{text}"
    if {str(s): x for s, x in model.parameters.items()} != {str(s): x for s, x in values.items()}:
        return f"other values:\n{text}"
    if {str(s): x for s, x in model.start.items()} != {str(s): x for s, x in start.items()} or (model.pseudo or None) != pseudo:
        return f"another start:\n{text}"
    again = model_text(model.system, parameters=model.parameters, start=model.start, pseudo=model.pseudo)
    return "same" if again == text else f"another text:\n{text}\n{again}"


def main(count: int, first: int) -> int:
    found: dict[str, int] = {}
    for seed in range(first, first + count):
        try:
            said = round_trip(seed)
        except Exception as error:  # whatever comes out is a finding
            said = f"{type(error).__name__}: {error}"
        kind = said.splitlines()[0][:70]
        found[kind] = found.get(kind, 0) + 1
        if said not in ("same", "no model"):
            print(f"seed {seed}: {said[:1500]}", flush=True)
    print(found)
    return sum(n for kind, n in found.items() if kind not in ("same", "no model"))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 0) > 0)
