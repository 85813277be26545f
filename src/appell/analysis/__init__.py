"""Analysis of a system beyond single motions: equilibria, averaged equations, resonances, derivatives, orbits, sections."""

from appell.analysis.averaging import averaged
from appell.analysis.fast_forcing import SlowSystem
from appell.analysis.linear import linearize
from appell.analysis.linearization import Linearization
from appell.analysis.many.attractor import Attractor
from appell.analysis.many.basin import Basin, basin
from appell.analysis.many.diagram import Diagram, bifurcation_diagram
from appell.analysis.many.frequency_response import FrequencyResponse, frequency_response
from appell.analysis.many.lyapunov import Lyapunov, lyapunov
from appell.analysis.many.lyapunov_field import LyapunovField, lyapunov_field
from appell.analysis.many.sections import Section, poincare
from appell.analysis.orbits.continuation import Branch, continue_orbit
from appell.analysis.orbits.orbit import Orbit
from appell.analysis.orbits.periodic_orbits import periodic_orbit
from appell.analysis.orbits.special_curve import SpecialCurve, continue_curve
from appell.analysis.orbits.variations import Variations, variations
from appell.analysis.resonance import Resonance, resonance
from appell.analysis.rests.equilibria import Rest, equilibria
from appell.analysis.rests.equilibrium import Equilibrium, equilibrium
from appell.analysis.rests.rest_branches import RestBranch, SpecialRest, continue_equilibrium
from appell.analysis.rests.steady import SteadyMotion, steady_motions
from appell.analysis.slow_motion import Averaged

__all__ = [
    "Attractor",
    "Averaged",
    "Basin",
    "Branch",
    "Diagram",
    "Equilibrium",
    "FrequencyResponse",
    "Linearization",
    "Lyapunov",
    "LyapunovField",
    "Orbit",
    "Resonance",
    "Rest",
    "RestBranch",
    "Section",
    "SlowSystem",
    "SpecialCurve",
    "SpecialRest",
    "SteadyMotion",
    "Variations",
    "averaged",
    "basin",
    "bifurcation_diagram",
    "continue_curve",
    "continue_equilibrium",
    "continue_orbit",
    "equilibria",
    "equilibrium",
    "frequency_response",
    "linearize",
    "lyapunov",
    "lyapunov_field",
    "periodic_orbit",
    "poincare",
    "resonance",
    "steady_motions",
    "variations",
]
