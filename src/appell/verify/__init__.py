"""Independent derivations compared (`agree`), constraints examined (`diagnose`), the motions
that they allow (`geometry`), the vector principle (`principle`), first
integrals along a motion (`integral_slopes`)."""

from appell.verify.agree import Agreement, agree
from appell.verify.diagnose import Diagnosis, Finding, diagnose
from appell.verify.geometry import AllowedMotions, VectorField, geometry
from appell.verify.integral_slopes import IntegralSlope, IntegralSlopes, integral_slopes
from appell.verify.principle import Decomposition, Principle, principle

__all__ = [
    "Agreement",
    "AllowedMotions",
    "Decomposition",
    "Diagnosis",
    "Finding",
    "IntegralSlope",
    "IntegralSlopes",
    "Principle",
    "VectorField",
    "agree",
    "diagnose",
    "geometry",
    "integral_slopes",
    "principle",
]
