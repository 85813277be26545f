"""Many motions of one model: whole time loops in compiled lanes, threads over them, and what is kept of each run.

dataset = ap.simulate_many(system, starts={x: xs}, parameters={k: ks}, until=10, keep={"top": ap.reduce.max(x)})
"""

from appell.ensembles import reduce
from appell.ensembles.inputs import outer
from appell.ensembles.simulate_many import simulate_many
from appell.ensembles.sweep import sweep

__all__ = ["outer", "reduce", "simulate_many", "sweep"]
