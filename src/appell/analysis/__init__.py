"""What follows from a system beside its motions: equilibria."""

from appell.analysis.equilibrium import Equilibrium, equilibrium

__all__ = ["Equilibrium", "equilibrium"]
