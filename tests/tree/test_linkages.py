"""Linkages of every kind against the same mechanism in minimal coordinates; `make sweep-linkages` goes on with more."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from tests.reference import linkages, sweeps

import appell as ap
from appell.errors import AppellError


@dataclass(frozen=True)
class Verdict:
    """Errors against the reference: of accelerations (relative), of rows A a + a0 (relative), of the motion's end."""

    acceleration: float
    rows: float
    end: float
    ok: bool
    said: str

    @property
    def silently_wrong(self) -> bool:
        return self.acceleration > 1e-7 or self.rows > 1e-9 or (self.ok and self.end > 1e-6)

    @property
    def right(self) -> bool:
        return self.ok and not self.silently_wrong


def judged(linkage, q, rng, until=0.15, backend="vm") -> Verdict:
    """What the library makes of a linkage from a state with random velocities."""
    q, v = linkage.onto(q, rng.standard_normal(len(q)), linkage.rank(q))
    system = linkage.system()
    run = ap.compile(system, backend="vm")
    a, _ = run.acceleration(0.0, q, v)
    exact, out = linkage.accelerations(q, v), run.form.select("A", "a0")(0.0, q, v, run.p)
    off = np.abs(a - exact).max() / (1 + np.abs(exact).max())
    rows = np.abs(out["A"] @ a + out["a0"]).max(initial=0.0) / (1 + np.abs(a).max())
    start = dict(zip((*system.coordinates, *system.velocities), (*q, *v), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        motion = ap.simulate(system, start, until, rtol=1e-9, atol=1e-11, backend=backend)
    end = np.abs(motion.q[-1] - linkage.motion(q, v, until)[0]).max() if motion.ok else np.inf
    return Verdict(off, rows, float(end), motion.ok, "; ".join((motion.message, *motion.doubts)))


@pytest.mark.parametrize(
    ("family", "kind", "seed"),
    [
        ("plane", "revolute", 0), ("plane", "cylindrical", 1), ("plane", "prismatic", 0), ("plane", "universal", 2),
        ("spatial", "spherical", 0), ("spatial", "planar", 1), ("spatial", "cylindrical", 0), ("spatial", "revolute", 1),
    ],
)  # fmt: skip
def test_random_rings_closed_by_every_kind_of_joint(family, kind, seed):
    rng = np.random.default_rng(seed)
    verdict = judged(*getattr(linkages, family)(rng, kind), rng)
    assert verdict.right, verdict


@pytest.mark.parametrize("name", ["goldberg", "sarrus"])
def test_overconstrained_rings_move(name):
    rng = np.random.default_rng(4)
    linkage = getattr(linkages, name)(rng)
    verdict = judged(linkage, linkage.closed(rng), rng)
    assert verdict.right, verdict


@pytest.mark.parametrize(("length", "mass"), [(1e-9, 1e6), (1e9, 1e-9)])
def test_scaled_rings_have_scaled_motions(length, mass):
    rng = np.random.default_rng(3)
    linkage, q = linkages.plane(rng, "spherical")
    q, v = linkage.onto(q, rng.standard_normal(3), 2)
    ends = []
    for each in (linkage, linkage.scaled(length, mass)):
        system = each.system()
        start = dict(zip((*system.coordinates, *system.velocities), (*q, *v), strict=True))
        motion = ap.simulate(system, start, 0.1, backend="vm")
        assert motion.ok and len(motion.redundant) == 1
        ends.append(motion.q[-1])
    assert ends[0] == pytest.approx(ends[1], abs=1e-8)


@pytest.mark.parametrize("seed", [0, 8])
def test_a_closed_plane_ring_is_not_contradictory(seed):
    """Three rows of a slide say the same of a plane chain; which of two branches Newton meets first says nothing.
    In ring 8, turned by right angles, one of them is nothing but rounding."""
    rng = np.random.default_rng(seed)
    linkage, _ = linkages.plane(rng, "prismatic")
    assert linkage.system().constraints


CASES = (
    *(("plane", kind) for kind in linkages.ROWS if kind != "planar"),
    *(("spatial", kind) for kind in linkages.ROWS),
    *((name, "") for name in ("bennett", "goldberg", "bricard", "sarrus", "arm_with_gripper")),
)


def member(k: int) -> sweeps.Outcome:
    """Ring number k: families and kinds in turn."""
    (family, kind), seed = CASES[k % len(CASES)], k // len(CASES)
    rng, name = np.random.default_rng(seed), f"{family} {kind} {seed}".replace("  ", " ")
    made = getattr(linkages, family)(rng, *([kind] if kind else []))
    linkage, q = made if isinstance(made, tuple) else (made, None)
    try:
        verdict = judged(linkage, linkage.closed(rng) if q is None else q, rng, 0.3, "auto")
    except AppellError as reason:
        return sweeps.refused(f"{name}: {type(reason).__name__}: {reason}")
    if verdict.silently_wrong:
        return sweeps.wrong(f"{name}: {verdict}")
    return sweeps.right() if verdict.right else sweeps.refused(f"{name}: {verdict}")


def main() -> int:
    """`python -m tests.tree.test_linkages COUNT [--share k/N]`: so many rings of each family and kind."""
    parser = sweeps.long_run(main.__doc__)
    parser.add_argument("count", type=int, nargs="?", default=10)
    given = parser.parse_args()
    return sweeps.sweep(member, given.count * len(CASES), given)


if __name__ == "__main__":
    sys.exit(main())
