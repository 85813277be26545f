"""Progress reports and Ctrl-C between the iterations of a CasADi solver; after Ctrl-C it returns the current iterate."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import casadi as ca


class SolverWatch:
    """Counts iterations, passes them to `report` (iteration, objective), and stops the solver after Ctrl-C.

    with watch: …        in the main thread Ctrl-C is recorded instead of raised; an error of `report` is raised at its end.
    """

    def __init__(self, report: Callable[[int, float], None] | None = None):
        self.report, self.iteration, self.interrupted = report, 0, False
        self._failed: Exception | None = None
        self._callbacks: list[Any] = []
        self._before: Any = None

    def __enter__(self) -> SolverWatch:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None
        if self._failed is not None:
            raise self._failed

    def _note(self, *_: object) -> None:
        if self.interrupted:  # a second Ctrl-C raises at once
            raise KeyboardInterrupt
        self.interrupted = True

    def stops_after(self, objective: float) -> bool:
        """One more iteration; whether to stop."""
        self.iteration += 1
        if self.report is not None:
            try:
                self.report(self.iteration, objective)
            except Exception as error:  # CasADi would print it with all its numbers, and go on
                self.report, self._failed, self.interrupted = None, error, True
        return self.interrupted

    def callback(self, n: int, m: int, p: int) -> Any:
        """A fresh callback for a program of n variables, m rows and p parameters; the watch keeps it alive."""
        iteration = _Iteration(self, n, m, p)
        self._callbacks = [iteration]
        return iteration


class _Iteration(ca.Callback):
    """CasADi's side of a watch; its arguments are those of a solution: x, f, g and multipliers."""

    def __init__(self, watch: SolverWatch, n: int, m: int, p: int):
        ca.Callback.__init__(self)
        self.watch, self.sizes = watch, {"x": n, "g": m, "lam_x": n, "lam_g": m, "lam_p": p, "f": 1}
        self.construct("iteration", {})

    def get_n_in(self) -> int:
        return ca.nlpsol_n_out()

    def get_n_out(self) -> int:
        return 1

    def get_name_in(self, i: int) -> str:
        return ca.nlpsol_out(i)

    def get_name_out(self, i: int) -> str:
        return "ret"

    def get_sparsity_in(self, i: int) -> Any:
        return ca.Sparsity.dense(self.sizes.get(ca.nlpsol_out(i), 0), 1)

    def eval(self, arg: Any) -> list[float]:
        return [float(self.watch.stops_after(float(arg[1])))]


__all__ = ["SolverWatch"]
