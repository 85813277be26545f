"""Models: systems, constraints, bodies and loads."""

from appell.model.attitudes import Euler, Quaternion, euler, quaternion
from appell.model.bodies import Particle, RigidBody
from appell.model.constraint import Constraint
from appell.model.friction import Friction
from appell.model.loads import Force, Torque
from appell.model.measured import sampled
from appell.model.reset import Reset
from appell.model.springs import Damper, Spring
from appell.model.system import System
from appell.model.unilateral import Between, Face, Unilateral

__all__ = [
    "Between",
    "Constraint",
    "Damper",
    "Euler",
    "Face",
    "Force",
    "Friction",
    "Particle",
    "Quaternion",
    "Reset",
    "RigidBody",
    "Spring",
    "System",
    "Torque",
    "Unilateral",
    "euler",
    "quaternion",
    "sampled",
]
