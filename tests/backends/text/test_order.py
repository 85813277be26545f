"""Other orders of the same instructions."""

from __future__ import annotations

from itertools import pairwise

import pytest

from appell.backends.text import instruction_order as schedule
from appell.backends.text.instruction_order import TRIG, depth_first, gather, least_traffic, nearest_first, traffic
from appell.graph.instructions import ARITY, Instruction


def the_same_after_operands(ordered, stream) -> None:
    assert sorted(ordered) == sorted(stream)
    known: set[int] = set()
    for item in ordered:
        assert known.issuperset(item.args)
        known.add(item.out)


@pytest.mark.parametrize("order", [gather, depth_first])
@pytest.mark.parametrize("seed", range(4))
def test_the_same_instructions_each_after_its_operands(random_fn, order, seed):
    stream = random_fn(seed, 300, tuple(ARITY)).instructions
    ordered = order(stream)
    the_same_after_operands(ordered, stream)
    assert [item for item in ordered if item.op == "output"] == [item for item in stream if item.op == "output"]


def test_gathered_sines_stand_in_as_few_runs_as_their_depth_allows(random_fn):
    stream = gather(random_fn(1, 300, ("add", "mul", "sin", "cos")).instructions)
    depth: dict[int, int] = {}
    for item in stream:
        depth[item.out] = max((depth[arg] for arg in item.args), default=0) + (item.op in TRIG)
    depths = [depth[item.out] for item in stream if item.op in TRIG]
    assert depths == sorted(depths) and depths[-1] > 3
    runs = sum(b.op in TRIG and a.op not in TRIG for a, b in pairwise(stream))
    assert runs <= depths[-1]


def test_depth_first_shortens_lives(random_fn):
    """Against layer by layer: all that needs inputs only, then all that needs the first layer, …, the outputs last."""

    def alive(stream) -> int:
        last = {arg: k for k, item in enumerate(stream) for arg in item.args}
        return sum(last[item.out] - k for k, item in enumerate(stream) if item.op != "output")

    stream = random_fn(2, 400, ("add", "mul", "sub")).instructions
    layer: dict[int, int] = {}
    for item in stream:
        if item.op != "output":
            layer[item.out] = 1 + max((layer[arg] for arg in item.args), default=0)
    layers = sorted(stream, key=lambda item: (item.op == "output", layer.get(item.out, 0)))
    assert alive(depth_first(layers)) < 0.8 * alive(layers)


def test_traffic_counted_by_hand(monkeypatch):
    """x, y, z and three sums of two registers: z gives way to x + y, is read again; x + y is written, read again at the end."""
    monkeypatch.setattr(schedule, "VALUE_REGISTERS", 2)
    x, y, z = (Instruction("input", k, (), None, 0, k) for k in range(3))
    sums = [Instruction("add", 3, (0, 1)), Instruction("mul", 4, (0, 2)), Instruction("mul", 5, (4, 2))]
    last = [Instruction("add", 6, (5, 3)), Instruction("output", -1, (6,), None, 0, 0)]
    assert traffic([x, y, z, *sums, *last]) == 5  # loads of x, y, z and of x + y, one store
    monkeypatch.setattr(schedule, "VALUE_REGISTERS", 4)
    assert traffic([x, y, z, *sums, *last]) == 3


@pytest.mark.parametrize("seed", range(4))
def test_least_traffic_is_the_better_of_two_orders(random_fn, seed):
    stream = random_fn(seed, 400, ("add", "mul", "sub", "sin")).instructions
    ordered = least_traffic(stream)
    the_same_after_operands(ordered, stream)
    body, outputs = ([item for item in stream if (item.op == "output") is last] for last in (False, True))
    both = traffic(nearest_first(stream)), traffic(depth_first((*body, *outputs[::-1])))
    assert traffic(ordered) == min(both)
