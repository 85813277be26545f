"""Independent derivations compared (`agree`), constraints examined (`diagnose`), the vector principle (`principle`), first
integrals along a motion (`integral_slopes`)."""

from appell.verify.agree import Agreement, agree
from appell.verify.diagnose import Diagnosis, Finding, diagnose
from appell.verify.integral_slopes import IntegralSlope, IntegralSlopes, integral_slopes
from appell.verify.principle import Decomposition, Principle, principle

__all__ = [
    "Agreement",
    "Decomposition",
    "Diagnosis",
    "Finding",
    "IntegralSlope",
    "IntegralSlopes",
    "Principle",
    "agree",
    "diagnose",
    "integral_slopes",
    "principle",
]
