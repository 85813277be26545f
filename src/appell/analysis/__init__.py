"""What follows from a system beside its motions: equilibria, averaged equations, resonances."""

from appell.analysis.averaging import Averaged, averaged
from appell.analysis.equilibrium import Equilibrium, equilibrium
from appell.analysis.orbits import Orbit, periodic_orbit
from appell.analysis.resonance import Resonance, resonance
from appell.analysis.variations import Variations, variations

__all__ = [
    "Averaged",
    "Equilibrium",
    "Orbit",
    "Resonance",
    "Variations",
    "averaged",
    "equilibrium",
    "periodic_orbit",
    "resonance",
    "variations",
]
