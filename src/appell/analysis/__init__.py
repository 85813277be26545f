"""What follows from a system beside its motions: equilibria, averaged equations, resonances, derivatives, orbits, sections."""

from appell.analysis.averaging import Averaged, averaged
from appell.analysis.equilibrium import Equilibrium, equilibrium
from appell.analysis.lyapunov import Lyapunov, lyapunov
from appell.analysis.orbits import Orbit, periodic_orbit
from appell.analysis.resonance import Resonance, resonance
from appell.analysis.sections import Section, poincare
from appell.analysis.variations import Variations, variations

__all__ = [
    "Averaged",
    "Equilibrium",
    "Lyapunov",
    "Orbit",
    "Resonance",
    "Section",
    "Variations",
    "averaged",
    "equilibrium",
    "lyapunov",
    "periodic_orbit",
    "poincare",
    "resonance",
    "variations",
]
