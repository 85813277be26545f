"""Optimal control by collocation on the normal form, design by simulation, and parameters identified from data."""

from appell.optimize.fit import fit
from appell.optimize.fit_result import Fit
from appell.optimize.goals import at, free, integral
from appell.optimize.plan import MotionPlan
from appell.optimize.steer import optimize

__all__ = ["Fit", "MotionPlan", "at", "fit", "free", "integral", "optimize"]
