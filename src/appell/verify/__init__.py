"""Independent derivations compared (`agree`), constraints examined (`diagnose`), the vector principle (`principle`)."""

from appell.verify.agree import Agreement, agree
from appell.verify.diagnose import Diagnosis, Finding, diagnose
from appell.verify.principle import Decomposition, Principle, principle

__all__ = ["Agreement", "Decomposition", "Diagnosis", "Finding", "Principle", "agree", "diagnose", "principle"]
