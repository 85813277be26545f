"""The extension module between Python and machine code: what it takes itself, what it hands on, and that it keeps nothing."""

from __future__ import annotations

import gc
import inspect
import weakref
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
import pytest
from tests.backends.calls.memory import keeps_nothing

from appell.backends import Call, c_function, compile_c, in_c
from appell.backends.calls import crossing, machine
from appell.errors import BackendUnavailable, ModelError
from appell.graph.fn import Fn, make_fn

here = pytest.mark.skipif(not crossing._headers(), reason="Python's or NumPy's headers are not installed")
RNG = np.random.default_rng(3)
T, Q, A, E = 0.7, RNG.standard_normal(3), RNG.standard_normal((2, 3)), np.empty(0)


def model() -> Fn:
    """y = t A q, B = q qᵀ, an empty output, c = t² and a margin q₀."""
    t, q, A, e = ca.SX.sym("t"), ca.SX.sym("q", 3), ca.SX.sym("A", 2, 3), ca.SX.sym("e", 0)
    outputs = {"y": t * (A @ q), "B": q @ q.T, "none": (ca.SX(0, 2), (0, 2)), "c": t * t, "margin": q[0]}
    return make_fn("crossed", {"t": t, "q": q, "A": A, "e": (e, (0,))}, outputs)


FN = model()


@pytest.fixture(scope="module")
def library():
    return compile_c([FN])


def nowhere(*arguments, **named):
    raise AssertionError(f"handed on: {arguments} {named}")


def handed(*arguments, **named):
    return "handed on", arguments, named


def formula(t, q, A):
    q = np.asarray(q)
    return t * (A @ q), np.outer(q, q), np.empty((0, 2)), t * t, q[0]


def close(found, expected):
    for a, b in zip(found, expected, strict=True):
        assert type(a) is np.ndarray and a.dtype == np.float64 and a.shape == np.shape(b)
        assert a.flags.c_contiguous and a.flags.writeable and (a.flags.owndata or not a.size)
        np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)  # products and sums are contracted


def misaligned(x):
    raw = np.empty(x.nbytes + 1, np.uint8)[1:]
    view = raw.view(np.float64)
    view[:] = x
    return view


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


@here
@pytest.mark.parametrize("t", [T, 2, -(2**70), True + 1, np.float64(T), np.array(T), float("nan"), -0.0])
def test_plain_arguments_are_taken_where_they_are(library, t):
    cross = crossing.crossing(library, FN, nowhere)
    close(cross(t, Q, A, E), formula(float(t), Q, A))
    close(cross(t, frozen(Q), A.copy(), np.empty((0,))), formula(float(t), Q, A))
    close(cross(t, np.array([np.nan, 1.0, 2.0]), A, E), formula(float(t), np.array([np.nan, 1.0, 2.0]), A))


STRANGE = {
    "list": (T, list(Q), A, E),
    "single precision": (T, Q.astype(np.float32), A, E),
    "integers": (T, np.arange(3), A, E),
    "other byte order": (T, Q.astype(">f8"), A, E),
    "gaps": (T, np.repeat(Q, 2)[::2], A, E),
    "backwards": (T, Q[::-1], A, E),
    "columns first": (T, Q, np.asfortranarray(A), E),
    "misaligned": (T, misaligned(Q), A, E),
    "subclass": (T, Q.view(np.ma.MaskedArray), A, E),
    "a truth value": (True, Q, A, E),
    "scalar in single precision": (np.float32(T), Q, A, E),
}
WRONG = {
    "shape": (T, Q[:2], A, E),
    "too many dimensions": (T, Q[None], A, E),
    "transposed": (T, Q, np.ascontiguousarray(A.T), E),
    "not empty": (T, Q, A, np.zeros(1)),
    "a vector for a scalar": (Q, Q, A, E),
    "a scalar for a vector": (T, T, A, E),
    "complex": (T, Q + 0j, A, E),
    "nothing": (T, None, A, E),
    "a word": ("one", Q, A, E),
    "beyond float": (10**400, Q, A, E),
    "too few": (T, Q, A),
    "too many": (T, Q, A, E, E),
}


@here
@pytest.mark.parametrize("arguments", [*STRANGE.values(), *WRONG.values()], ids=[*STRANGE, *WRONG])
def test_anything_else_is_handed_on_as_it_is(library, arguments):
    word, given, named = crossing.crossing(library, FN, handed)(*arguments)
    assert word == "handed on" and not named
    assert len(given) == len(arguments) and all(x is y for x, y in zip(given, arguments, strict=True))


@here
@pytest.mark.parametrize("arguments", STRANGE.values(), ids=STRANGE)
def test_what_can_be_converted_gives_the_same_numbers(library, arguments):
    t, q, A, _ = (np.asarray(x, float) for x in arguments)
    close(c_function(library, FN).single(*arguments), formula(t, q, A))


@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("arguments", [value for name, value in WRONG.items() if not name.startswith("too few")])
def test_errors_are_those_of_the_way_round(monkeypatch, library, arguments, headers):
    if not headers:
        monkeypatch.setattr(crossing, "_headers", lambda: ())
    with pytest.raises((ModelError, TypeError)) as with_or_without:
        c_function(library, FN).single(*arguments)
    monkeypatch.setattr(crossing, "_headers", lambda: ())
    with pytest.raises(with_or_without.type) as without:
        c_function(library, FN).single(*arguments)
    assert str(with_or_without.value) == str(without.value)


@here
def test_keywords_and_exceptions_pass_through(library):
    cross: Any = crossing.crossing(library, FN, handed)
    assert cross(T, q=Q, A=A, e=E) == ("handed on", (T,), {"q": Q, "A": A, "e": E})
    assert cross(*[T, Q], **{"A": A})[1:] == ((T, Q), {"A": A})

    def fails(*arguments):
        raise ZeroDivisionError("on purpose")

    plain, guarded = (crossing.crossing(library, FN, fails, kept=4, guarded=x) for x in (False, True))
    for kind, q in ((plain, Q.tolist()), (guarded, Q.tolist()), (guarded, -abs(Q))):
        with pytest.raises(ZeroDivisionError, match="on purpose"):
            kind(T, q, A, E)  # type: ignore[misc]


@here
def test_the_same_numbers_as_through_cffi_to_the_bit(library, random_fn):
    for seed in range(4):
        fn = random_fn(seed, 40)
        built = compile_c([fn])
        direct, packed = crossing.crossing(built, fn, nowhere), Call(fn, partial(machine._buffers, built, fn)).single
        for x in RNG.standard_normal((5, 8)):
            for a, b in zip(direct(x), packed(x), strict=True):
                np.testing.assert_array_equal(a, b)


@here
def test_some_outputs_alone_and_results_that_are_fresh(library):
    first: Any = crossing.crossing(library, FN, nowhere, kept=1, bare=True)
    close([first(T, Q, A, E)], formula(T, Q, A)[:1])
    two: Any = crossing.crossing(library, FN, nowhere, kept=2)
    kept = two(T, Q, A, E)
    copies = [x.copy() for x in kept]
    again = two(T + 1, Q + 1, A, E)
    assert not any(np.shares_memory(x, y) for x, y in zip(kept, again, strict=True))
    for x, y in zip(kept, copies, strict=True):
        np.testing.assert_array_equal(x, y)


@here
def test_a_margin_decides_and_fixed_inputs_are_written_once(library):
    fixed = A.copy()
    guarded: Any = crossing.crossing(library, FN, handed, kept=4, guarded=True, fixed={"A": fixed, "t": 2})
    fixed[:] = np.nan
    for q in ([1.0, 2.0, 3.0], [5e-324, 1.0, np.nan]):
        close(guarded(np.array(q), E), formula(2.0, q, A)[:4])
    for q in ([0.0, 1.0, 2.0], [-1.0, 1.0, 2.0], [np.nan, 1.0, 2.0]):
        word, given, _ = guarded(x := np.array(q), E)
        assert word == "handed on" and given[0] is x and given[1] is E


@here
def test_many_calls_keep_nothing(library):
    """References of arguments, and memory, after thousands of answers, refusals and exceptions."""

    def fails(*arguments):
        raise ZeroDivisionError

    cross: Any = crossing.crossing(library, FN, nowhere)
    negative, bad = np.array([-1.0, 0.0, 0.0]), [1.0]
    kinds: list[Any] = [
        crossing.crossing(library, FN, otherwise, kept=4, guarded=True) for otherwise in (lambda *arguments: None, fails)
    ]
    watched = (Q, A, E, negative, bad)

    def everything(count: int) -> None:
        for _ in range(count):
            cross(T, Q, A, E)
            for kind in kinds:
                for q in (negative, bad, Q):
                    try:
                        kind(T, q, A, E)
                    except ZeroDivisionError:
                        continue

    keeps_nothing(everything, watched, 2000)


@here
def test_a_circle_through_it_is_collected(library):
    class Holder:
        def otherwise(self, *arguments):
            return None

    holder: Any = Holder()
    holder.fast = crossing.crossing(library, FN, holder.otherwise)
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


@here
def test_long_functions_let_other_threads_run(library):
    """The way that gives up the interpreter's lock, from eight threads."""
    cross: Any = crossing.crossing(library, FN, nowhere, operations=crossing.OPERATIONS_WITHOUT_LOCK)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for q in rng.standard_normal((200, 3)):
            close(cross(T, q, A, E), formula(T, q, A))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


@here
def test_it_tells_who_it_is(library):
    def answer(t, q, A, e):
        """Words."""

    cross: Any = crossing.crossing(library, FN, answer)
    assert (cross.__name__, cross.__doc__) == ("answer", "Words.")
    assert list(inspect.signature(cross).parameters) == ["t", "q", "A", "e"]
    with pytest.raises(AttributeError):
        cross.something = 1


@here
@pytest.mark.parametrize(
    "change",
    [{"address": 0}, {"inputs": ((1, 2, 3),)}, {"inputs": ((-1,),)}, {"inputs": ([3],)}, {"inputs": (np.zeros(4)[::2],)},
     {"inputs": ((),) * 33}, {"outputs": ((33,),), "kept": 0}, {"kept": 2}, {"kept": -1}, {"bare": True, "kept": 0},
     {"guarded": True, "kept": 1}],
)  # fmt: skip
def test_what_would_not_be_safe_cannot_be_made(library, change):
    module = crossing._module(crossing._headers(), crossing.environment())
    given = {"address": library.address("crossed_batch"), "inputs": ((),), "outputs": ((),), "kept": 1, "bare": False}
    given |= {"guarded": False, "patient": False, "otherwise": nowhere, "owner": library}
    module.Crossing(**given)
    with pytest.raises((ValueError, TypeError)):
        module.Crossing(**{**given, **change})


def test_more_ports_than_the_module_has_room_for():
    x = [ca.SX.sym(f"x{k}") for k in range(40)]
    (total,) = in_c(make_fn("crowd", {f"x{k}": v for k, v in enumerate(x)}, {"y": sum(x)})).single(*range(40))
    assert total == sum(range(40))


def without_python_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(crossing.sysconfig, "get_path", lambda name: str(tmp_path))


def without_numpy_headers(monkeypatch, tmp_path):
    monkeypatch.setattr(crossing.np, "get_include", lambda: str(tmp_path))


def with_a_header_that_fails(monkeypatch, tmp_path):
    (tmp_path / "Python.h").write_text("#error not this one\n")
    without_python_headers(monkeypatch, tmp_path)


def with_a_module_that_does_not_build(monkeypatch, tmp_path):
    def build_module(*arguments):
        raise BackendUnavailable("no")

    crossing._module.cache_clear()
    monkeypatch.setattr(crossing, "build_module", build_module)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "hide", [without_python_headers, without_numpy_headers, with_a_header_that_fails, with_a_module_that_does_not_build]
)
def test_without_the_module_calls_go_through_cffi_without_a_word(monkeypatch, tmp_path, library, hide):
    hide(monkeypatch, tmp_path)
    found = c_function(library, FN)
    assert inspect.isfunction(found.single) and found.crossing(nowhere, kept=1, bare=True) is None
    close(found(T, Q, A, E), formula(T, Q, A))
    guarded = found.entry(handed, kept=4, guarded=True, fixed={"A": A})
    close(guarded(T, abs(Q), E), formula(T, abs(Q), A)[:4])
    assert guarded(T, -abs(Q), E)[0] == "handed on"
    crossing._module.cache_clear()
