"""The classical forms of the equations of motion, each derived by its own route; `ap.agree` compares them.

A new form is one file with a `Form` and one line in `FORMS`.
"""

from appell.forms.appell import Appell, appell
from appell.forms.base import Equations, Form
from appell.forms.chaplygin import Chaplygin, chaplygin
from appell.forms.gauss import Gauss, gauss
from appell.forms.hamel import Hamel, hamel
from appell.forms.lagrange import Lagrange, lagrange
from appell.forms.maggi import Maggi, maggi
from appell.forms.nielsen import Nielsen, nielsen
from appell.forms.routh import Routh, routh
from appell.forms.tsenov import Tsenov, tsenov
from appell.forms.voronets import Voronets, voronets

FORMS: dict[str, Form] = {
    form.name: form
    for form in (
        Lagrange(),
        Nielsen(),
        Tsenov(),
        Gauss(),
        Appell(),
        Maggi(),
        Hamel(),
        Chaplygin(),
        Voronets(),
        Routh(),
    )
}
"""name → form, in the order in which `agree` lists them."""

__all__ = [
    "FORMS",
    "Equations",
    "Form",
    "appell",
    "chaplygin",
    "gauss",
    "hamel",
    "lagrange",
    "maggi",
    "nielsen",
    "routh",
    "tsenov",
    "voronets",
]
