"""What follows from a system beside its motions: equilibria, averaged equations, resonances."""

from appell.analysis.averaging import Averaged, averaged
from appell.analysis.equilibrium import Equilibrium, equilibrium
from appell.analysis.resonance import Resonance, resonance
from appell.analysis.variations import Variations, variations

__all__ = ["Averaged", "Equilibrium", "Resonance", "Variations", "averaged", "equilibrium", "resonance", "variations"]
