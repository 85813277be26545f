"""The classical forms of the equations of motion, each derived by its own route; `ap.agree` compares them.

A new form is one file with a `Form` and one `register`; from outside, `ap.forms.register(MyForm())` is enough.
"""

from typing import Any

from appell.forms.appell import Appell, appell
from appell.forms.base import Equations, Form
from appell.forms.chaplygin import Chaplygin, chaplygin
from appell.forms.form_table import FORMS, register
from appell.forms.gauss import Gauss, gauss
from appell.forms.hamel import Hamel, hamel
from appell.forms.hamilton import Hamilton, hamilton
from appell.forms.jourdain import Jourdain, jourdain
from appell.forms.kane import Kane, kane
from appell.forms.lagrange import Lagrange, lagrange
from appell.forms.maggi import Maggi, maggi
from appell.forms.nielsen import Nielsen, nielsen
from appell.forms.poincare_chetaev import PoincareChetaev, poincare_chetaev
from appell.forms.routh import Routh, routh
from appell.forms.routhian import Routhian, routhian
from appell.forms.tsenov import Tsenov, tsenov
from appell.forms.udwadia_kalaba import UdwadiaKalaba, udwadia_kalaba
from appell.forms.voronets import Voronets, voronets
from appell.spelling import did_you_mean

for _form in (
    Lagrange(),
    Nielsen(),
    Tsenov(),
    Gauss(),
    UdwadiaKalaba(),
    Appell(),
    Kane(),
    Jourdain(),
    Maggi(),
    Hamel(),
    PoincareChetaev(),
    Chaplygin(),
    Voronets(),
    Hamilton(),
    Routhian(),
    Routh(),
):
    register(_form)


def __getattr__(name: str) -> Any:
    """Access to forms registered from outside."""
    if name in FORMS:
        return FORMS[name]
    raise AttributeError(f"there is no form {name!r}; ap.forms has {', '.join(FORMS)}{did_you_mean(name, FORMS)}")


__all__ = [
    "FORMS",
    "Equations",
    "Form",
    "appell",
    "chaplygin",
    "gauss",
    "hamel",
    "hamilton",
    "jourdain",
    "kane",
    "lagrange",
    "maggi",
    "nielsen",
    "poincare_chetaev",
    "register",
    "routh",
    "routhian",
    "tsenov",
    "udwadia_kalaba",
    "voronets",
]
