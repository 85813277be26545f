"""Accelerations and motions in PyTorch: against equations written in PyTorch by hand, differences, and `simulate`."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import appell as ap
from appell import zoo
from appell.errors import BackendUnavailable, ModelError

if importlib.util.find_spec("torch") is None:
    pytest.skip("PyTorch is not installed: pip install 'appell[torch]'", allow_module_level=True)

import torch

DOUBLE = {"dtype": torch.float64}


@pytest.fixture(scope="module")
def pendulum():
    """Two links."""
    example = zoo.n_pendulum()
    return ap.compile(example.system, example.parameters, backend="vm")


def by_hand(q, v, p):
    """Two links, parameters g, l1, l2, m1, m2; see test_in_jax."""
    g, l1, l2, m1, m2 = p.unbind(-1)
    s, c = torch.sin(q[..., 0] - q[..., 1]), torch.cos(q[..., 0] - q[..., 1])
    r1 = -m2 * l2 * v[..., 1] ** 2 * s - (m1 + m2) * g * torch.sin(q[..., 0])
    r2 = l1 * v[..., 0] ** 2 * s - g * torch.sin(q[..., 1])
    free = m1 + m2 * s * s
    return torch.stack([(r1 - m2 * c * r2) / (l1 * free), ((m1 + m2) * r2 - c * r1) / (l2 * free)], dim=-1)


def test_values_and_two_derivatives_as_written_by_hand(pendulum):
    f, rng = pendulum.torch(), np.random.default_rng(1)
    q, v = (torch.tensor(rng.normal(size=(3, 2)), requires_grad=True) for _ in range(2))
    p = torch.tensor(pendulum.p * rng.uniform(0.5, 2, 5), requires_grad=True)
    found = []
    for a in (f.acceleration(0.0, q, v, p), by_hand(q, v, p)):
        first = torch.autograd.grad((a**2).sum(), (q, v, p), create_graph=True)
        total = sum((x * torch.cos(x)).sum() for x in first)
        found.append([a, *first, *torch.autograd.grad(total, (q, v, p))])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_batches_by_vmap_and_single_states(pendulum):
    f, rng = pendulum.torch(), np.random.default_rng(2)
    q, v = (torch.tensor(rng.normal(size=(4, 2))) for _ in range(2))
    whole = f(0.0, q, v)
    torch.testing.assert_close(torch.func.vmap(lambda q, v: f(0.0, q, v))(q, v), whole)
    torch.testing.assert_close(f(0.0, q[2], v[2]), whole[2])
    J = torch.func.vmap(torch.func.jacrev(lambda q, v: f(0.0, q, v)))(q, v)
    wanted = torch.autograd.functional.jacobian(lambda x: by_hand(x, v[1], torch.tensor(pendulum.p)), q[1])
    torch.testing.assert_close(J[1], wanted, rtol=1e-10, atol=1e-10)


def test_a_motion_is_that_of_simulate_and_has_a_gradient(pendulum):
    f, q = pendulum.torch(), torch.tensor([0.4, -0.3], requires_grad=True, **DOUBLE)
    still = torch.zeros(2, **DOUBLE)
    end = lambda q: f.motion(q, still, step=0.005, steps=100)[0]
    names = pendulum.system.coordinates
    motion = ap.simulate(pendulum, dict(zip(names, q.tolist(), strict=True)), 0.5)
    np.testing.assert_allclose(end(q).detach(), [motion.final[name] for name in names], atol=1e-8)
    (slope,) = torch.autograd.grad(end(q)[1], q)
    h = 1e-5
    for k in range(2):
        step = h * torch.eye(2, **DOUBLE)[k]
        assert slope[k].item() == pytest.approx((end(q + step)[1] - end(q - step)[1]).item() / (2 * h), rel=1e-6)


def test_what_a_routine_solves_for_has_its_derivatives():
    """Eighteen links: accelerations come from a routine, derivatives from the theorem of the implicit function."""
    example = zoo.n_pendulum(18)
    run = ap.compile(example.system, example.parameters, backend="vm")
    f, rng = run.torch(), np.random.default_rng(3)
    q = torch.tensor(rng.uniform(-1, 1, run.form.nq), requires_grad=True)
    v = torch.tensor(rng.normal(size=run.form.nv))
    a = f.acceleration(0.0, q, v)
    np.testing.assert_allclose(a.detach(), run.acceleration(0.0, q.detach().numpy(), v.numpy())[0], rtol=1e-10, atol=1e-10)
    (slope,) = torch.autograd.grad(a[3], q)
    h, one = 1e-5, torch.eye(len(q), **DOUBLE)[2]
    assert slope[2].item() == pytest.approx((f(0.0, q + h * one, v)[3] - f(0.0, q - h * one, v)[3]).item() / (2 * h), rel=1e-5)


def test_float32_and_refusals(pendulum):
    f, zero = pendulum.torch(), torch.zeros(2)
    assert f(0.0, zero, zero).dtype == torch.float32
    ball = ap.coordinates("h")
    falls = ap.compile(ap.System([ball], ball.d**2 / 2, 9.81 * ball, constraints=[ap.Unilateral(ball, "floor")]), backend="vm")
    for match, call in {
        r"'q' has shape \(3,\)": lambda: f(0.0, torch.zeros(3), zero),
        "of float64, or of float32, not of torch.int64": lambda: f(0.0, torch.zeros(2, dtype=torch.int64), zero.long()),
        "batches of q, v and p are of different shapes": lambda: f(0.0, torch.zeros(3, 2), torch.zeros(4, 2)),
        "is a whole number, 0 or more, not 1.5": lambda: f.motion(zero, zero, step=0.1, steps=1.5),
        "'t' is a real number": lambda: f(torch.zeros(2), zero, zero),
        "'t' is a tensor or numbers, not 'now'": lambda: f("now", zero, zero),
        "'q' is a tensor or numbers, not None": lambda: f(0.0, None, zero),
        "ignores walls": lambda: falls.torch().motion(torch.ones(1), torch.zeros(1), step=0.1, steps=1),
    }.items():
        with pytest.raises(ModelError, match=match):
            call()
    with pytest.raises(BackendUnavailable, match=r"run\.torch\(\) has reverse derivatives only, .* use torch\.func\.jacrev"):
        torch.func.jvp(lambda q: f(0.0, q, zero), (zero,), (torch.ones(2),))
