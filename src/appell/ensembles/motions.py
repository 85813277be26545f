"""The result of `simulate_many` and `sweep`: the dataset of all runs, whether they succeeded, and a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.delegates import delegate
from appell.ensembles.ensemble_result import doubtful, reached
from appell.errors import AS_ASKED, Status, UnknownKey
from appell.motion.result_frame import Reported
from appell.reading import name_in, shown

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False, repr=False)
class Motions(Reported):
    """Many motions of one model.

    dataset: an `xarray.Dataset` over `run` (of a sweep: over what was varied), see `simulate_many`. `motions["x"]` and
    `motions.attrs` read it.
    """

    dataset: xr.Dataset

    @property
    def ok(self) -> bool:
        """Whether every run reached its end, or a requested stop, and none is doubtful."""
        return bool(reached(self.dataset["status"].values).all() and not doubtful(self.dataset["message"].values).any())

    @property
    def message(self) -> str:
        """How many runs reached their end, how many of them are doubtful, and what became of the others."""
        status = self.dataset["status"].values.ravel()
        remarks = [f"{int((status == s).sum())} {Status(int(s)).name}" for s in np.unique(status) if s not in AS_ASKED]
        stopped = int((status == Status.STOPPED).sum())
        doubts = int(doubtful(self.dataset["message"].values).sum())
        remarks = [*([f"{doubts} of them doubtful"] if doubts else []), *remarks]
        remarks = [*([f"{stopped} of them by stop="] if stopped else []), *remarks]
        summary = f"{int(reached(status).sum())} of {len(status)} runs reached their end"
        return summary + (f" ({', '.join(remarks)}); motions['message'] says why" if remarks else "")

    @property
    def attrs(self) -> dict[Any, Any]:
        """The attributes of the dataset: system, method, tolerances, path, seconds."""
        return self.dataset.attrs

    def __getitem__(self, name: Any) -> xr.DataArray:
        """A variable of the dataset, by name or symbol: `motions["x"]`, `motions[x.d]`."""
        if not isinstance(name, str):
            text = name_in(name)
            named = [key for key, v in self.dataset.variables.items() if v.attrs.get("symbol") == text]
            name = named[0] if named else text
        if name not in self.dataset.variables:
            raise UnknownKey(f"these motions have no {shown(name)}; they have {', '.join(map(str, self.dataset.variables))}")
        return self.dataset[name]

    def __contains__(self, name: Any) -> bool:
        return name_in(name) in self.dataset.variables

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self.dataset.variables:
            raise AttributeError(f"read {name!r} of many motions as motions[{name!r}], or motions.dataset.{name}")
        raise AttributeError(f"many motions have no attribute {name!r}; motions.dataset is an xarray.Dataset with all of them")

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.dataset.data_vars))
        return f"<{self.attrs.get('title', 'motions')}: {self.message}; {names}>"

    def _repr_html_(self) -> str:
        return self.dataset._repr_html_()

    def plot(self, *names: Any, ax: Any = None) -> Any:
        """A matplotlib figure: each variable over time, over the varied quantity (a map if there are two), or over the run.

        names: variables of the dataset, by name or symbol; all coordinates, or all reductions, if none is given.
        """
        return delegate("Motions.plot")(self.dataset, [str(self[name].name) for name in names], ax)


__all__ = ["Motions"]
