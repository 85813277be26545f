"""Nonsmooth motion: walls and threads (`contact`), dry friction (`friction`).

Models are written with `ap.Unilateral`, `ap.Between`, `ap.Friction` and `ap.rolling`. To add an impact law of your own, call
`ap.nonsmooth.register(ap.nonsmooth.ImpactLaw(…))`.
"""

from appell.model.impact_laws import IMPACT_LAWS, ImpactLaw, register

__all__ = ["IMPACT_LAWS", "ImpactLaw", "register"]
