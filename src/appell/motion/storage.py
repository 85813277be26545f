"""Motions on disk: datasets in NetCDF and Zarr, written completely or not at all, and read with care."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from appell.errors import AppellError, BackendUnavailable, FileError, MissingFile, ModelError
from appell.motion.dataset import MOTION_FORMAT
from appell.motion.foreign import FOREIGN_FILE_BYTES, refuse_strange
from appell.motion.loaded_motion import LoadedMotion
from appell.reading import finite, missing, path_of, shown

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Format:
    """A file format: xarray's engines with the packages they need, what to install, and how a dataset is written."""

    engines: Mapping[str, tuple[str, ...]]
    remedy: str
    write: Callable[[xr.Dataset, Path, Any], None]
    reading: Mapping[str, Any]

    def engine(self) -> Any:
        """The first engine whose packages are all installed."""
        for engine, packages in self.engines.items():
            if all(util.find_spec(package) for package in packages):
                return engine
        needed = " or ".join(" with ".join(packages) for packages in self.engines.values())
        raise BackendUnavailable(f"this file needs {needed}; {self.remedy}")


def _write_netcdf(dataset: xr.Dataset, path: Path, engine: Any) -> None:
    dataset.to_netcdf(path, engine=engine)
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _write_zarr(dataset: xr.Dataset, path: Path, engine: Any) -> None:
    dataset.to_zarr(path, consolidated=False)


FORMATS = {
    ".nc": Format(
        engines={"h5netcdf": ("h5netcdf", "h5py"), "netcdf4": ("netCDF4",)},
        remedy="pip install h5netcdf h5py, or save to .zarr",
        write=_write_netcdf,
        reading={},
    ),
    ".zarr": Format(
        engines={"zarr": ("zarr",)},
        remedy="pip install 'appell[distributed]', or save to .nc",
        write=_write_zarr,
        reading={"consolidated": False},
    ),
}


def _format(path: Path) -> Format:
    if path.suffix not in FORMATS:
        raise ModelError(f"'{path.name}' has no known extension; use {' or '.join(FORMATS)}")
    return FORMATS[path.suffix]


def save(dataset: xr.Dataset, path: str | Path) -> Path:
    """Writes under a temporary name beside `path` and renames it at the end; a failure leaves an older file unchanged."""
    path = path_of(path, "motion.save")
    form = _format(path)
    engine = form.engine()
    if path.is_dir() and not _is_zarr(path):
        raise ModelError(f"{path} is a folder that is not a Zarr store; choose another name")
    if not path.parent.is_dir():
        raise MissingFile(f"the folder {path.parent} does not exist; make it first")
    draft = path.with_name(f".{path.stem}-{uuid4().hex[:12]}{path.suffix}")
    try:
        form.write(dataset, draft, engine)
        _swap(draft, path)
    except OSError as error:
        raise FileError(f"{path} cannot be written: {error.strerror or shown(str(error))}") from error
    finally:
        _remove(draft)
    return path


def _is_zarr(path: Path) -> bool:
    return any((path / name).exists() for name in ("zarr.json", ".zgroup"))


def _swap(draft: Path, path: Path) -> None:
    """Replaces `path` by `draft`. A folder cannot replace a folder in one step, so the old one is moved aside first."""
    if not path.is_dir():
        os.replace(draft, path)
        return
    aside = draft.with_name(f"{draft.name}.old")
    os.rename(path, aside)
    try:
        os.rename(draft, path)
    except OSError:
        os.rename(aside, path)
        raise
    _remove(aside)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        with suppress(FileNotFoundError):
            path.unlink()


def load(path: str | Path, *, largest: int = FOREIGN_FILE_BYTES) -> LoadedMotion:
    """Reads what `motion.save` wrote: values by symbol or name, reactions by constraint or name, energy, plots.

    A file may come from anywhere. It is inspected first (`appell.motion.foreign`): anything that is not part of a motion, such
    as objects, links or unusual codecs, is refused before decoding. largest: most bytes of its arrays, 4 GiB by default.
    """
    import xarray as xr

    path = path_of(path, "ap.load")
    form = _format(path)
    if not (path.is_file() or path.is_dir()):
        raise missing(path)
    engine, largest = form.engine(), int(finite(largest, "largest="))
    try:
        refuse_strange(path, largest)
        dataset = xr.load_dataset(path, engine=engine, decode_times=False, **form.reading)
    except AppellError:
        raise
    except Exception as error:  # readers raise all kinds of errors on broken files
        raise ModelError(f"{path} cannot be read as {path.suffix}: {shown(str(error))}") from error
    version = dataset.attrs.get("appell_format")
    if version is None:
        raise ModelError(f"{path} was not written by motion.save; open it with xarray")
    if not isinstance(version, int | np.integer) or version > MOTION_FORMAT:
        raise ModelError(f"{path} was written by a newer appell ({shown(dataset.attrs.get('appell_version'))}); update")
    motion = LoadedMotion(dataset)
    motion.refuse_broken(path)
    return motion
