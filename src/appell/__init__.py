"""appell: the dynamics of constrained mechanical systems.

Write a system once, read its equations in any classical form, trust them because independent derivations are compared, and
run them at the speed of the hardware.

    import appell as ap
"""

from appell import forms, scene, zoo
from appell.analysis import averaged, equilibrium, periodic_orbit, resonance, variations
from appell.backends import AppellWarning, clear_cache
from appell.errors import (
    AppellError,
    BackendUnavailable,
    ConstraintError,
    FormNotApplicable,
    ModelError,
    SimulationError,
    SingularConfiguration,
    Status,
)
from appell.jets import coordinates, parameters, speeds, t, total_derivative
from appell.model import (
    Between,
    Constraint,
    Force,
    Particle,
    RigidBody,
    System,
    Torque,
    Unilateral,
    euler,
    from_sympy,
    quaternion,
)
from appell.motion.motion import Motion
from appell.motion.storage import load
from appell.scene import Scene
from appell.simulate.run import Run, compile
from appell.simulate.simulate import simulate
from appell.simulate.start import consistent
from appell.tree import Chain, Tree
from appell.verify import agree, diagnose, principle

__version__ = "0.1.0"

__all__ = [
    "AppellError",
    "AppellWarning",
    "BackendUnavailable",
    "Between",
    "Chain",
    "Constraint",
    "ConstraintError",
    "Force",
    "FormNotApplicable",
    "ModelError",
    "Motion",
    "Particle",
    "RigidBody",
    "Run",
    "Scene",
    "SimulationError",
    "SingularConfiguration",
    "Status",
    "System",
    "Torque",
    "Tree",
    "Unilateral",
    "agree",
    "averaged",
    "clear_cache",
    "compile",
    "consistent",
    "coordinates",
    "diagnose",
    "equilibrium",
    "euler",
    "forms",
    "from_sympy",
    "load",
    "parameters",
    "periodic_orbit",
    "principle",
    "quaternion",
    "resonance",
    "scene",
    "simulate",
    "speeds",
    "t",
    "total_derivative",
    "variations",
    "zoo",
]
