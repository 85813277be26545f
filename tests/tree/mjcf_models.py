"""Every MJCF file below some folders against MuJoCo: python -m tests.tree.mjcf_models FOLDER …

    inverse dynamics with mj_inverse, accelerations with springs, damping, tendons and actuators with mj_forward, to 1e-8

Files that are refused name their element; files that MuJoCo itself does not compile are counted. Exit status 1 where an answer
differs.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np

from appell.errors import AppellError

CLOSE = 1e-8
LARGEST = 40
"""Velocities up to which accelerations are compared: the graph of a larger system takes minutes to build."""


def main(folders: list[str]) -> int:
    import mujoco
    from tests.tree.mujoco_peer import MuJoCoTwin

    files = sorted(f for folder in folders for f in Path(folder).rglob("*.xml") if b"<mujoco" in f.read_bytes()[:4096])
    compared, wrong, refused = 0, 0, Counter[str]()
    for path in files:
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            refused["not compiled by MuJoCo"] += 1
            continue
        if not model.nv:
            refused["nothing moves"] += 1
            continue
        rng = np.random.default_rng(0)
        try:
            twin = MuJoCoTwin(model)
            errors = [twin.inverse_error(rng), twin.forward_error(rng) if model.nv <= LARGEST else 0.0]
        except AppellError as error:
            refused[str(error)[:90]] += 1
            print(f"{path}: {error}")
            continue
        compared, wrong = compared + 1, wrong + (max(errors) > CLOSE)
        print(f"{path}: nv = {model.nv}, inverse {errors[0]:.1e}, forward {errors[1]:.1e}", flush=True)
    print(f"\n{compared} compared, {wrong} differ by more than {CLOSE:g}")
    for reason, count in refused.most_common():
        print(f"{count:4d}  {reason}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
