"""Rigid-body chains and trees: joints, robot files, inverse and forward dynamics, Golubev's equations, constraints between
bodies."""

from appell.tree import mechanics  # noqa: F401  # registers trees with the normal form
from appell.tree.chain import Chain, ChainLink
from appell.tree.description import Frame, Joint, Limits
from appell.tree.golubev.free_body import FreeBody, free_motion
from appell.tree.inertia import Inertia, Placement, place
from appell.tree.joints import JointKind, Names, register
from appell.tree.loops import loop, rolling
from appell.tree.readers.document import Document
from appell.tree.readers.robot import LinkShape, Robot
from appell.tree.readers.robot_readers import RobotReader, register_reader
from appell.tree.symbols.frame_symbols import FrameSymbols
from appell.tree.touching import (
    capsules_touch,
    contact_box,
    contact_capsule,
    contact_point,
    contact_sphere,
    sphere_and_capsule_touch,
    spheres_touch,
)
from appell.tree.tree import Tree
from appell.tree.tree_system import TreeSystem

__all__ = [
    "Chain",
    "ChainLink",
    "Document",
    "Frame",
    "FrameSymbols",
    "FreeBody",
    "Inertia",
    "Joint",
    "JointKind",
    "Limits",
    "LinkShape",
    "Names",
    "Placement",
    "Robot",
    "RobotReader",
    "Tree",
    "TreeSystem",
    "capsules_touch",
    "contact_box",
    "contact_capsule",
    "contact_point",
    "contact_sphere",
    "free_motion",
    "loop",
    "place",
    "register",
    "register_reader",
    "rolling",
    "sphere_and_capsule_touch",
    "spheres_touch",
]
