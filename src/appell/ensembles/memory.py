"""An estimate of the memory of an ensemble, made before it starts."""

from __future__ import annotations

from appell.ensembles.ensemble_result import Results
from appell.ensembles.free_memory import missing_memory
from appell.ensembles.inputs import Inputs
from appell.ensembles.order import Order
from appell.errors import ModelError


def refuse_too_large(inputs: Inputs, order: Order, nz: int) -> None:
    """Raises `ModelError`, with a remedy, if the results would not fit into memory."""
    if missing := missing_memory(Results.size(inputs.runs, order, nz)):
        rows = order.kept.rows
        amount = f"{rows} states of {inputs.runs} runs" if rows > 1 else f"{inputs.runs} runs"
        raise ModelError(
            f"{amount} take {missing}: keep fewer times, the final states, or reductions"
            " (keep={'top': ap.reduce.max(x)}); or make fewer runs at a time"
        )


__all__ = ["refuse_too_large"]
