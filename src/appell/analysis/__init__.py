"""What follows from a system beside its motions: equilibria, averaged equations, resonances, derivatives, orbits, sections."""

from appell.analysis.attractors import Attractor
from appell.analysis.averaging import averaged
from appell.analysis.basin import Basin, basin
from appell.analysis.continuation import Branch, continue_orbit
from appell.analysis.diagram import Diagram, bifurcation_diagram
from appell.analysis.equilibria import Rest, equilibria
from appell.analysis.equilibrium import Equilibrium, equilibrium
from appell.analysis.linear import linearize
from appell.analysis.linearization import Linearization
from appell.analysis.lyapunov import Lyapunov, lyapunov
from appell.analysis.orbit import Orbit
from appell.analysis.resonance import Resonance, resonance
from appell.analysis.rests import RestBranch, SpecialRest, continue_equilibrium
from appell.analysis.sections import Section, poincare
from appell.analysis.shooting import periodic_orbit
from appell.analysis.slow_motion import Averaged
from appell.analysis.steady import SteadyMotion, steady_motions
from appell.analysis.variations import Variations, variations

__all__ = [
    "Attractor",
    "Averaged",
    "Basin",
    "Branch",
    "Diagram",
    "Equilibrium",
    "Linearization",
    "Lyapunov",
    "Orbit",
    "Resonance",
    "Rest",
    "RestBranch",
    "Section",
    "SpecialRest",
    "SteadyMotion",
    "Variations",
    "averaged",
    "basin",
    "bifurcation_diagram",
    "continue_equilibrium",
    "continue_orbit",
    "equilibria",
    "equilibrium",
    "linearize",
    "lyapunov",
    "periodic_orbit",
    "poincare",
    "resonance",
    "steady_motions",
    "variations",
]
