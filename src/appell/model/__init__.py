"""What a person writes: systems, constraints, bodies and loads."""

from appell.model.bodies import Euler, Force, Particle, Quaternion, RigidBody, Torque, euler, quaternion
from appell.model.constraint import Constraint
from appell.model.system import System

__all__ = [
    "Constraint",
    "Euler",
    "Force",
    "Particle",
    "Quaternion",
    "RigidBody",
    "System",
    "Torque",
    "euler",
    "quaternion",
]
