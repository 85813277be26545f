"""Rigid-body chains and trees: joints, URDF, inverse and forward dynamics, Golubev's equations."""

from appell.tree.chain import Chain, ChainLink
from appell.tree.description import Frame, Joint
from appell.tree.inertia import Inertia, Placement, place
from appell.tree.tree import Tree

__all__ = ["Chain", "ChainLink", "Frame", "Inertia", "Joint", "Placement", "Tree", "place"]
