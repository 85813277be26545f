"""Files from elsewhere: nothing in them runs, leads out of them or fills the memory; what is refused is named."""

from __future__ import annotations

import json
import os
import re
import shutil
import tracemalloc
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

import appell as ap
from appell.errors import AppellError, FileError, ModelError
from appell.motion.foreign import unfolded_zstd
from appell.scene.meshes import read_mesh
from appell.scene.tree_scenes import mesh_path
from appell.show.mathml import mathml
from appell.tree.readers.document import Document
from appell.tree.readers.mjcf_guard import refuse_unsafe


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    example = ap.zoo.bouncing_ball()
    folder = tmp_path_factory.mktemp("motions")
    motion = ap.simulate(example.system, example.start, 1.0, example.parameters)
    motion.save(folder / "a.zarr")
    motion.save(folder / "a.nc")
    return folder


@pytest.fixture
def zarr_store(saved, tmp_path) -> Path:
    shutil.copytree(saved / "a.zarr", tmp_path / "a.zarr")
    return tmp_path / "a.zarr"


@pytest.fixture
def netcdf(saved, tmp_path) -> Path:
    shutil.copy(saved / "a.nc", tmp_path / "a.nc")
    return tmp_path / "a.nc"


def change(store: Path, name: str, **changes: object) -> None:
    place = store / name / "zarr.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), **changes}))


# -- Zarr --------------------------------------------------------------------------------------------------------------


def test_object_codecs_are_refused_before_anything_is_decoded(zarr_store):
    """`pickle` as a filter of Zarr 2, with a payload that would leave a trace."""
    trace = zarr_store.parent / "executed"
    payload = f"cposix\nsystem\n(S'touch {trace}'\ntR.".encode()
    evil = zarr_store / "evil"
    evil.mkdir()
    stated = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "compressor": None, "fill_value": None}
    (evil / ".zarray").write_text(json.dumps({**stated, "filters": [{"id": "pickle", "protocol": 5}]}))
    (evil / "0").write_bytes(payload)
    with pytest.raises(ModelError, match=r"'evil' has the type '\|O'; objects"):
        ap.load(zarr_store)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"codecs": [{"name": "vlen-utf8"}]}, "written with the codecs"),
        ({"codecs": [{"name": "bytes"}, {"name": "numcodecs.pickle"}]}, "written with the codecs"),
        ({"codecs": [{"name": "bytes"}, {"name": "zstd"}, {"name": "gzip"}]}, "written with the codecs"),
        ({"codecs": 7}, "written with the codecs"),
        ({"storage_transformers": [{"name": "x"}]}, "written with the codecs"),
        ({"data_type": "string"}, "has the type 'string'"),
        ({"data_type": {"name": "numpy.datetime64"}}, "has the type"),
        ({"shape": [10**13]}, "GiB; if that is meant"),
        ({"shape": [10**9], "chunk_grid": {"configuration": {"chunk_shape": [10]}}}, "GiB|chunks"),
        ({"shape": [10**8], "chunk_grid": {"configuration": {"chunk_shape": [1]}}}, "over 1000000 chunks"),
        ({"shape": [-1]}, "has the shape"),
        ({"shape": "all"}, "has the shape"),
        ({"node_type": "group"}, "is a group inside the group"),
    ],
)
def test_descriptions_that_are_no_motion_are_refused_by_name(zarr_store, changes, said):
    change(zarr_store, "z", **changes)
    with pytest.raises(ModelError, match=rf"'z' .*({said})"):
        ap.load(zarr_store)


def test_links_pipes_and_folders_in_a_store_are_refused(zarr_store):
    place = zarr_store / "z" / "c" / "0"
    whole = place.read_bytes()
    place.unlink()
    place.symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="is a link or a special file"):
        ap.load(zarr_store)
    place.unlink()
    os.mkfifo(place)  # reading it would wait for ever
    with pytest.raises(ModelError, match="is a link or a special file"):
        ap.load(zarr_store)
    place.unlink()
    place.write_bytes(whole)
    assert ap.load(zarr_store).name == "bouncing ball"
    (zarr_store / "more").mkdir()
    with pytest.raises(ModelError, match="'more' is not an array"):
        ap.load(zarr_store)


def test_a_chunk_that_unfolds_to_more_than_its_array_is_refused_in_bounded_memory(zarr_store):
    place = zarr_store / "z" / "c" / "0"
    stated = bytearray(place.read_bytes())
    assert unfolded_zstd(bytes(stated[:18])) == 8 * len(ap.load(zarr_store).t)
    place.write_bytes(b"\x28\xb5\x2f\xfd" + bytes([0xE0]) + (2**40).to_bytes(8, "little") + b"\0" * 20)
    with pytest.raises(ModelError, match=r"'z' has a chunk, 0, that unfolds to more"):
        ap.load(zarr_store)
    change(zarr_store, "z", codecs=[{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "gzip"}])
    place.write_bytes(zlib.compress(b"\0" * 100_000_000, 9, wbits=31))
    tracemalloc.start()
    with pytest.raises(ModelError, match=r"'z' has a chunk, 0, that unfolds to more"):
        ap.load(zarr_store)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


# -- NetCDF ------------------------------------------------------------------------------------------------------------


def test_what_leads_out_of_a_netcdf_file_is_refused(netcdf, saved):
    def refused(name: str, said: str) -> None:
        with pytest.raises(ModelError, match=said):
            ap.load(netcdf)
        with h5py.File(netcdf, "a") as file:
            del file[name]

    with h5py.File(netcdf, "a") as file:
        file["out"] = h5py.ExternalLink(str(saved / "a.nc"), "/z")
    refused("out", "'out' is a link")
    with h5py.File(netcdf, "a") as file:
        file["soft"] = h5py.SoftLink("/soft")
    refused("soft", "'soft' is a link")
    with h5py.File(netcdf, "a") as file:
        file.create_group("inner").create_group("more")
    refused("inner", "'inner' is a group")
    with h5py.File(netcdf, "a") as file:
        file.create_dataset("elsewhere", (8,), "f8", external=[("/etc/hostname", 0, 64)])
    refused("elsewhere", "'elsewhere' lies in another file")
    with h5py.File(netcdf, "a") as file:
        file.create_dataset("huge", (10**12,), "f8", chunks=(10**6,))
    refused("huge", "'huge' has .* GiB")
    with h5py.File(netcdf, "a") as file:
        file.create_dataset("texts", data=["a"], dtype=h5py.string_dtype())
    refused("texts", "'texts' has the type object")
    with h5py.File(netcdf, "a") as file:
        file.create_dataset("packed", data=np.zeros(10), compression="lzf")
    refused("packed", "HDF5 filters")
    with h5py.File(netcdf, "a") as file:
        bomb = file.create_dataset("bomb", (4,), "f8", chunks=(4,), compression="gzip")
        bomb.id.write_direct_chunk((0,), zlib.compress(b"\0" * 50_000, 9))
    refused("bomb", "'bomb' has a chunk that unfolds to more")
    assert ap.load(netcdf).name == "bouncing ball"


def test_files_that_are_none_are_refused_by_name(tmp_path, netcdf):
    for name, content in {"text.nc": b"not a file", "empty.nc": b"", "old.nc": b"CDF\x01" + b"\0" * 99}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=name):
            ap.load(tmp_path / name)
    os.mkfifo(tmp_path / "pipe.nc")
    with pytest.raises(FileError, match="there is no"):
        ap.load(tmp_path / "pipe.nc")
    (tmp_path / "short.nc").write_bytes(netcdf.read_bytes()[:3000])
    with pytest.raises(ModelError, match=r"short\.nc"):
        ap.load(tmp_path / "short.nc")


@pytest.mark.parametrize("name", "parameters drift status notes system tolerances energy_scale redundant".split())
@pytest.mark.parametrize("value", ["{", "[1, 2", 3.5, None])
def test_attributes_that_are_lost_or_broken_are_named(netcdf, name, value):
    with h5py.File(netcdf, "a") as file:
        if value is None:
            del file.attrs[name]
        else:
            file.attrs[name] = value
    try:
        motion = ap.load(netcdf)
    except ModelError as error:
        assert "is incomplete or damaged" in str(error)
    else:  # a name that is another text, a scale that is another number, notes that are missing: still a motion
        assert name in ("system", "energy_scale", "notes") and repr(motion)


def test_attributes_are_data_on_every_page(netcdf, tmp_path):
    evil = "<script>alert(1)</script>"
    with h5py.File(netcdf, "a") as file:
        file.attrs["system"] = evil
        for label in ("long_name", "units"):
            file["z"].attrs[label] = evil
        file["z"].attrs["latex"] = r"\href{javascript:alert(1)}{\text{<img src=x onerror=alert(1)>}}"
    motion = ap.load(netcdf)
    page = motion.report(tmp_path / "page.html").read_text(encoding="utf-8")
    body = page[page.index("<body>") : page.index('<script type="application/json"')]
    for text in (body, motion._repr_html_()):
        assert "<script" not in text and "javascript:" not in text and "<img" not in text
    motion.plot()


def test_formulas_have_no_links_styles_or_markup():
    sources = (r"\href{javascript:alert(1)}{x}", r"\style{color:red}{x}", r"\text{<img src=x onerror=alert(1)>}", "{")
    for source in sources:
        made = mathml(source, block=False)
        assert made.startswith("<code>") or not re.search(r"<(?!/?m)|href|style|onerror", made)
    assert mathml(r"\frac{\dot{x}_{1}}{2}", block=True).startswith("<math")


# -- meshes ------------------------------------------------------------------------------------------------------------


CUBE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"


@pytest.mark.parametrize(
    "name",
    ["file://{}/secret.obj", "../secret.obj", "{}/secret.obj", "package://../secret.obj", "package://robot/../../secret.obj",
     "link.obj", "model://../secret.obj", "a/../../secret.obj"],
)  # fmt: skip
def test_mesh_names_that_leave_the_folder_are_refused(tmp_path, name):
    folder = tmp_path / "robot"
    (folder / "a").mkdir(parents=True)
    (tmp_path / "secret.obj").write_text(CUBE)
    (folder / "own.obj").write_text(CUBE)
    (folder / "link.obj").symlink_to(tmp_path / "secret.obj")
    with pytest.raises(ModelError, match=r"is not read: it is outside|is not there"):
        mesh_path(name.format(tmp_path), folder / "robot.urdf")
    for own in ("own.obj", f"file://{folder}/own.obj", "a/../own.obj"):
        assert mesh_path(own, folder / "robot.urdf") == (folder / "own.obj").resolve()


def test_a_package_is_where_its_package_xml_is(tmp_path, monkeypatch):
    package = tmp_path / "my_robot"
    (package / "urdf").mkdir(parents=True)
    (package / "part.obj").write_text(CUBE)
    for name in ("../part.obj", "package://my_robot/part.obj"):
        with pytest.raises(ModelError, match=r"package\.xml"):
            mesh_path(name, package / "urdf" / "r.urdf")
    (package / "package.xml").write_text("<package/>")
    for name in ("../part.obj", "package://my_robot/part.obj", "package:///my_robot/part.obj"):
        assert mesh_path(name, package / "urdf" / "r.urdf") == (package / "part.obj").resolve()
    (package / "package.xml").unlink()
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert mesh_path("package://my_robot/part.obj", package / "urdf" / "r.urdf") == (package / "part.obj").resolve()


def dae(inside: str, namespace: str = "http://collada") -> str:
    return f'<?xml version="1.0"?><COLLADA xmlns="{namespace}">{inside}</COLLADA>'


BOMBS = {
    "namespace.dae": lambda: dae("<a/>" * 60_000, "n" * 700_000),  # 1 MB that was 40 GB of names
    "attributes.dae": lambda: dae("<a " + " ".join(f'a{i}="{i}"' for i in range(60_000)) + "/>"),
    "nesting.dae": lambda: dae("<node>" * 100_000 + "</node>" * 100_000),
    "entities.dae": lambda: '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><COLLADA>&b;</COLLADA>',
    "fan.obj": lambda: "v 0 0 0\n" * 3 + "f " + "1 2 3 " * 700_000 + "\n",
    "far.obj": lambda: "v 0 0 1e200\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "index.obj": lambda: "v 0 0 0\nf 1 2 99999999999999999999\n",
    "words.obj": lambda: "v a b c\nf x y z\n",
    "short.stl": lambda: "solid x\nvertex 1 2\nendsolid\n",
    "nothing.stl": lambda: "",
}


@pytest.mark.parametrize("name", BOMBS)
def test_meshes_that_are_bombs_are_refused_in_bounded_memory(tmp_path, name):
    (tmp_path / name).write_text(BOMBS[name]())
    tracemalloc.start()
    with pytest.raises(ModelError, match=f"{name} cannot be read"):
        read_mesh(tmp_path / name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300_000_000


def test_visual_numbers_that_are_none_are_noted_and_the_rest_is_drawn(tmp_path):
    visuals = "".join(
        f'<visual><origin xyz="{xyz}" rpy="{rpy}"/><geometry>{shape}</geometry>'
        f'<material name="m"><color rgba="{rgba}"/></material></visual>'
        for xyz, rpy, shape, rgba in [
            ("0 0 0", "0 0 0", '<box size="a b c"/>', "1 0 0 1"), ("0 0", "0 0 0", '<box size="1 1 1"/>', "1 0 0 1"),
            ("0 0 0", "nan 0 0", '<box size="1 1 1"/>', "1 0 0 1"), ("0 0 0", "0 0 0", '<sphere radius="1e999"/>', "x"),
            ("0 0 0", "0 0 0", '<sphere radius="two"/>', "nan 0 0 1"), ("0 0 0", "0 0 0", '<box size="1 1 1"/>', "nan 2 3 4"),
        ]
    )  # fmt: skip
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    (tmp_path / "r.urdf").write_text(
        f'<robot name="r"><link name="base"/><link name="arm">{inertial}{visuals}</link>'
        '<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/></joint></robot>'
    )
    scene = ap.Scene(ap.Tree.from_urdf(tmp_path / "r.urdf"))
    assert len(scene.notes) == 5 and len(scene.items) == 1
    assert any("must be 3 finite numbers" in note for note in scene.notes)


# -- what cannot be written --------------------------------------------------------------------------------------------


def test_files_that_cannot_be_written_are_named(saved, tmp_path):
    motion = ap.load(saved / "a.nc")
    for path in ("/proc/none/a.html", "/dev/full/a.html", "\0.html", 7, b"a.html", tmp_path / ("n" * 300 + ".html")):
        with pytest.raises(AppellError):
            motion.report(path)


ARM = '<worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>'
TWICE = '<replicate count="9999" offset="0 0 1">' * 2 + "<body/>" + "</replicate>" * 2
MJCF_ASKS = {
    "leads out of the folder": [
        '<include file="../other.xml"/>', '<include file="/etc/passwd"/>', '<asset><mesh file="/etc/hostname.stl"/></asset>',
        '<compiler meshdir="a"/><asset><mesh file="../../x.stl"/></asset>', '<asset><hfield file="../h.png"/></asset>',
        '<compiler meshdir="a"/><asset><mesh file="linked.stl"/></asset>', '<asset><model file="../m.xml"/></asset>',
    ],
    "includes over": ['<include file="r.xml"/>'],
    "code of its own": ['<extension><plugin plugin="x"/></extension>'],
    "pixels|is over 8192": [
        '<asset><texture builtin="flat" width="100000" height="1"/></asset>',
        "<asset>" + '<texture builtin="flat" width="8000" height="8000"/>' * 5 + "</asset>",
    ],
    "copies|makes": [f"<worldbody>{TWICE}</worldbody>"],
    "is over 10000": ['<worldbody><composite count="1000 1000 1000"/></worldbody>'],
    "reserves over": ['<size memory="900G"/>', '<size memory="99999999999999"/>'],
    "document type": ["<!DOCTYPE x>"],
    "nested": ["<body>" * 300 + "</body>" * 300],
}  # fmt: skip


@pytest.mark.parametrize("says", MJCF_ASKS)
def test_what_an_mjcf_file_asks_of_its_compiler_is_looked_at_first(says, tmp_path):
    (tmp_path / "robot" / "a").mkdir(parents=True)
    (tmp_path / "robot" / "a" / "linked.stl").symlink_to(tmp_path / "x.stl")
    for inside in MJCF_ASKS[says]:
        text = f"{inside}<mujoco/>" if "DOCTYPE" in inside else f"<mujoco>{inside}{ARM}</mujoco>"
        (tmp_path / "robot" / "r.xml").write_text(text)
        with pytest.raises(ModelError, match=says):
            refuse_unsafe(Document.of(tmp_path / "robot" / "r.xml", "from_mjcf"))
        if "file=" in inside:
            with pytest.raises(ModelError, match="given as text"):
                refuse_unsafe(Document.of(text, "from_mjcf"))


def test_an_mjcf_file_that_asks_for_nothing_odd_is_compiled(tmp_path):
    refuse_unsafe(Document.of(f"<mujoco><size memory='64M'/>{ARM}</mujoco>", "from_mjcf"))
    (tmp_path / "more.xml").write_text(f"<mujoco>{ARM}</mujoco>")
    (tmp_path / "r.xml").write_text('<mujoco><include file="more.xml"/></mujoco>')
    refuse_unsafe(Document.of(tmp_path / "r.xml", "from_mjcf"))
