"""Verification: independent derivations compared (`agree`), constraints examined (`diagnose`), admissible motions (`geometry`),
the vector principle (`principle`), first integrals along a motion (`integral_slopes`), momenta of symmetries
(`momentum_equation`)."""

from appell.verify.agree import Agreement, agree
from appell.verify.diagnose import Diagnosis, Finding, diagnose
from appell.verify.geometry import AllowedMotions, VectorField, geometry
from appell.verify.integral_slopes import IntegralSlope, IntegralSlopes, integral_slopes
from appell.verify.momentum_equation import MomentumEquation, momentum_equation
from appell.verify.principle import Decomposition, Principle, principle

__all__ = [
    "Agreement",
    "AllowedMotions",
    "Decomposition",
    "Diagnosis",
    "Finding",
    "IntegralSlope",
    "IntegralSlopes",
    "MomentumEquation",
    "Principle",
    "VectorField",
    "agree",
    "diagnose",
    "geometry",
    "integral_slopes",
    "momentum_equation",
    "principle",
]
