"""The classical forms of the equations of motion, each derived by its own route; `ap.agree` compares them.

A new form is one file with a `Form` and one line in `FORMS`.
"""

from appell.forms.base import Equations, Form
from appell.forms.gauss import Gauss, gauss
from appell.forms.lagrange import Lagrange, lagrange
from appell.forms.nielsen import Nielsen, nielsen
from appell.forms.tsenov import Tsenov, tsenov

FORMS: dict[str, Form] = {form.name: form for form in (Lagrange(), Nielsen(), Tsenov(), Gauss())}
"""name → form, in the order in which `agree` lists them."""

__all__ = ["FORMS", "Equations", "Form", "gauss", "lagrange", "nielsen", "tsenov"]
