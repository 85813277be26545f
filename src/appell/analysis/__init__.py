"""What follows from a system beside its motions: equilibria, averaged equations, resonances."""

from appell.analysis.averaging import Averaged, averaged
from appell.analysis.equilibrium import Equilibrium, equilibrium
from appell.analysis.resonance import Resonance, resonance

__all__ = ["Averaged", "Equilibrium", "Resonance", "averaged", "equilibrium", "resonance"]
