"""Best motions and measured ones: unknown parameters from data."""

from appell.optimize.fit import fit
from appell.optimize.fit_result import Fit

__all__ = ["Fit", "fit"]
