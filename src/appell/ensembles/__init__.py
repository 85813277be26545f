"""Many motions of one model: whole time loops in compiled vector lanes, threads over them, and the results kept of each run.

motions = ap.simulate_many(system, start={x: xs}, until=10, parameters={k: ks}, keep={"top": ap.reduce.max(x)})
"""

from appell.ensembles.inputs import outer
from appell.ensembles.motions import Motions
from appell.ensembles.simulate_many import simulate_many
from appell.ensembles.sweep import sweep
from appell.reductions import reduce

__all__ = ["Motions", "outer", "reduce", "simulate_many", "sweep"]
