"""The common interface of results: whether they are complete, a message, a dataset, a figure and a page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from appell.delegates import delegate

if TYPE_CHECKING:
    import xarray as xr


class Reported:
    """A result with `ok`, `message`, `dataset` and `plot()`, from which a page is made."""

    def report(self, path: Any, *, title: str | None = None) -> Any:
        """Writes one self-contained page, and returns its path: message, figure, values, model, and how it was computed.

        path: of the page, ending with .html. title: of the page.
        """
        return delegate("Result.report")(self, path, title=title)


class Result(Reported):
    """Base class of results. A subclass has `system`, `ok` and `message` (complete, or why not; partial results are kept), and
    defines `variables` and `coords`; `dataset` and a short text follow from these."""

    system: Any
    ok: Any
    message: Any

    def variables(self) -> Mapping[str, Any]:
        """name → (dimensions, values, attributes) of the dataset."""
        raise NotImplementedError

    def coords(self) -> Mapping[str, Any]:
        """Coordinates of the dataset."""
        return {}

    def attributes(self) -> Mapping[str, Any]:
        """Attributes of the dataset."""
        return {"system": self.system.name, "message": self.message}

    @cached_property
    def dataset(self) -> xr.Dataset:
        """All results as an xarray `Dataset` with names and units."""
        import xarray as xr

        return xr.Dataset(dict(self.variables()), coords=dict(self.coords()), attrs=dict(self.attributes()))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self}>" if type(self).__str__ is not object.__str__ else object.__repr__(self)

    def plot(self, *args: Any, **options: Any) -> Any:
        """A plot of the result, as a matplotlib figure."""
        raise NotImplementedError


__all__ = ["Reported", "Result"]
