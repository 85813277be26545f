"""Nonsmooth motion: walls and threads (`contact`), dry friction (`friction`).

What a model is written with has names of its own: `ap.Unilateral`, `ap.Between`, `ap.Friction`, `ap.rolling`. A law of impact
from outside is added with `ap.nonsmooth.register(ap.nonsmooth.ImpactLaw(…))`.
"""

from appell.model.impact_laws import IMPACT_LAWS, ImpactLaw, register

__all__ = ["IMPACT_LAWS", "ImpactLaw", "register"]
