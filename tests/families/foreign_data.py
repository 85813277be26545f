"""Files of others: nothing in them runs, leads out of them or stands on a page as markup."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from tests.families.family import family

import appell as ap
from appell.errors import AppellError, ModelError

x = ap.coordinates("x")
m = ap.parameters("m", positive=True)


@cache
def whole() -> Path:
    """A folder with a motion that has impacts, as NetCDF and as Zarr."""
    folder = Path(tempfile.mkdtemp(prefix="appell-foreign-"))
    floor = ap.Unilateral(x, "floor", restitution=0.5)
    ball = ap.System([x], m * x.d**2 / 2, 9.81 * m * x, constraints=[floor], name="ball")
    motion = ap.simulate(ball, {x: 0.2}, 0.5, {m: 1.0}, backend="vm")
    motion.save(folder / "a.nc")
    motion.save(folder / "a.zarr")
    return folder


@contextmanager
def copied(name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / name
        (shutil.copytree if (whole() / name).is_dir() else shutil.copy)(whole() / name, target)
        yield target


def of_zarr_2(codec: Any, dtype: str = "|O") -> Callable[[Path], None]:
    """An array of Zarr 2 beside the others, whose only chunk is a pickle that leaves a trace."""

    def write(store: Path) -> None:
        evil = store / "evil"
        evil.mkdir()
        stated = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": dtype, "fill_value": None, "compressor": None}
        (evil / ".zarray").write_text(json.dumps({**stated, "filters": codec, "order": "C"}))
        (evil / "0").write_bytes(f"cposix\nsystem\n(S'touch {store.parent / 'executed'}'\ntR.".encode())

    return write


def stated(**changes: Any) -> Callable[[Path], None]:
    """The description of an array with other entries."""

    def write(store: Path) -> None:
        file = store / "x" / "zarr.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))

    return write


def linked(store: Path) -> None:
    (store / "x" / "c" / "0").unlink()
    (store / "x" / "c" / "0").symlink_to("/dev/zero")


STORES: tuple[Callable[[Path], None], ...] = (
    of_zarr_2([{"id": "pickle", "protocol": 5}]),  # the one that was seen: decoded by numcodecs below 0.16.6
    of_zarr_2([{"id": "msgpack2"}]), of_zarr_2([{"id": "json2"}]), of_zarr_2([{"id": "pickle"}], "<f8"), of_zarr_2(7),
    stated(codecs=[{"name": "bytes"}, {"name": "numcodecs.pickle"}]), stated(codecs=[{"name": "vlen-utf8"}]),
    stated(data_type="string"), stated(data_type={"name": "numpy.datetime64"}), stated(shape=[10**13]), stated(shape=[-1]),
    stated(storage_transformers=[{"name": "x"}]), stated(node_type="group"), linked,
)  # fmt: skip


@family(count=len(STORES), sample=(0,))
def zarr_of_others_is_looked_at_before_it_is_decoded(seed: int) -> None:
    """Object codecs, unknown codecs, sizes, links: refused by name, and nothing has run."""
    pytest.importorskip("zarr")
    with copied("a.zarr") as store:
        STORES[seed](store)
        with pytest.raises(ModelError, match=r"'evil'|'x'|a\.zarr|link"):
            ap.load(store)
        assert not (store.parent / "executed").exists()


LINKS: tuple[Callable[[h5py.File], Any], ...] = (
    lambda file: file.__setitem__("out", h5py.ExternalLink("/etc/hostname", "/x")),  # the one that was seen
    lambda file: file.__setitem__("out", h5py.ExternalLink("other.nc", "/x")),
    lambda file: file.__setitem__("out", h5py.SoftLink("/out")),
    lambda file: file.__setitem__("out", h5py.SoftLink("/x")),
    lambda file: file.create_dataset("out", (8,), "f8", external=[("/etc/hostname", 0, 64)]),
    lambda file: file.create_group("out").create_group("more"),
    lambda file: file.create_group("out").__setitem__("more", h5py.ExternalLink("/etc/hostname", "/x")),
    lambda file: file.create_dataset("out", (10**12,), "f8", chunks=(10**6,)),
    lambda file: file.create_dataset("out", data=["a"], dtype=h5py.string_dtype()),
    lambda file: file.create_dataset("out", data=np.zeros(10), compression="lzf"),
    lambda file: file.create_dataset("out", (3,), dtype=h5py.ref_dtype),
    lambda file: file.create_dataset("out", (3,), dtype=h5py.vlen_dtype(np.float64)),
)  # fmt: skip


@family(count=len(LINKS), sample=(0,))
def netcdf_of_others_leads_nowhere(seed: int) -> None:
    """Links, data in other files, groups, objects and sizes in an HDF5 file: refused by name."""
    with copied("a.nc") as path:
        with h5py.File(path, "a") as file:
            LINKS[seed](file)
        with pytest.raises(ModelError, match="'out'"):
            ap.load(path)


NAMES = (
    "file://{}/secret.obj", "../secret.obj", "{}/secret.obj", "package://../secret.obj", "package://robot/../../secret.obj",
    "link.obj", "model://../secret.obj", "a/../../secret.obj", "package://{}/secret.obj", "./../secret.obj", "a/link.obj",
    "FILE://{}/secret.obj", "%2e%2e/secret.obj", "..\\secret.obj",
)  # fmt: skip
PLACE = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


@family(count=len(NAMES), sample=(0,))
def meshes_of_a_robot_lie_in_its_folder(seed: int) -> None:
    """Names that lead elsewhere are not read: no point of the other file stands in the scene."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "robot"
        (folder / "a").mkdir(parents=True)
        (Path(top) / "secret.obj").write_text("v 77 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
        for link in (folder / "link.obj", folder / "a" / "link.obj"):
            link.symlink_to(Path(top) / "secret.obj")
        mesh = f'<visual><geometry><mesh filename="{NAMES[seed].format(top)}"/></geometry></visual>'
        (folder / "r.urdf").write_text(
            f'<robot name="r"><link name="base"/><link name="arm">{PLACE}{mesh}</link><joint name="j" type="revolute">'
            '<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>'
        )
        try:
            scene = ap.Scene(ap.Tree.from_urdf(folder / "r.urdf", backend="vm"))
        except AppellError:
            return
        assert any("secret" in note or "link" in note for note in scene.notes) and "77" not in repr(scene.items)


EVIL = "<script>alert(1)</script>"
MARKUP: tuple[tuple[str, str, Any], ...] = (
    ("x", "latex", r"\href{javascript:alert(1)}{x}"),  # the one that was seen
    ("x", "latex", r"\text{<img src=x onerror=alert(1)>}"), ("x", "long_name", EVIL), ("x", "units", EVIL),
    ("", "system", EVIL), ("", "system", '" onmouseover="alert(1)'), ("x", "latex", "</math>" + EVIL), ("x", "units", "&<b>"),
    ("x", "latex", r"\href{JaVaScRiPt:alert(1)}{x}"), ("x", "latex", r"\url{javascript:alert(1)}"),
    ("x", "latex", r"\style{background:url(javascript:alert(1))}{x}"), ("x_d", "long_name", "</td>" + EVIL),
    ("x", "long_name", "]]>" + EVIL), ("", "method", EVIL),
)  # fmt: skip


@family(count=len(MARKUP), sample=(0,))
def attributes_are_data_on_every_page(seed: int) -> None:
    """Markup, scripts and links in the attributes of a file reach neither a page nor a notebook."""
    where, name, value = MARKUP[seed]
    with copied("a.nc") as path:
        with h5py.File(path, "a") as file:
            (file[where] if where else file).attrs[name] = value
        try:
            motion = ap.load(path)
        except AppellError:
            return
        page = motion.report(path.with_suffix(".html")).read_text(encoding="utf-8")
        body = page[page.index("<body>") : page.index('<script type="application/json"')]
        for text in (body, motion._repr_html_()):
            low = text.lower()
            assert "<script" not in low and "javascript:" not in low and "<img" not in low and ' onmouseover="' not in low
