"""A rolling disc: derive its equations, compare independent derivations, simulate it and plot it.

    python examples/demo.py [folder]          pictures and data go to the folder, out/ by default
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from rich.console import Console

import appell as ap


def main(folder: Path) -> None:
    out = Console()
    folder.mkdir(parents=True, exist_ok=True)
    example = ap.zoo.rolling_disc()
    system = example.system
    out.rule(f"{system.name}: {len(system.coordinates)} coordinates, {len(system.constraints)} constraints")
    out.print(example.reference, style="italic")
    for constraint in system.constraints:
        out.print(f"  {constraint}", highlight=False)

    out.rule("Lagrange's equations with multipliers (Routh)")
    equations = ap.forms.lagrange(system)
    out.print(str(equations), highlight=False, soft_wrap=True)
    (folder / "equations.tex").write_text(equations.latex(), encoding="utf-8")

    out.rule("Independent derivations, compared at random states")
    out.print(str(ap.agree(system)), highlight=False, soft_wrap=True)

    out.rule("Motion")
    motion = ap.simulate(system, example.start, example.until, example.parameters, progress=out.is_terminal)
    out.print(str(motion.verify()), highlight=False, soft_wrap=True)
    out.print(f"time in the loop      {1e3 * motion.statistics['seconds']:.2f} ms on back end '{motion.run.backend}'")

    motion.plot().savefig(folder / "motion.png", dpi=150)
    x, y = system.coordinates[:2]
    motion.plot_path(x, y).savefig(folder / "path.png", dpi=150)
    motion.save(folder / "motion.nc")
    out.print("written: " + ", ".join(str(folder / name) for name in ("equations.tex", "motion.png", "path.png", "motion.nc")))


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
