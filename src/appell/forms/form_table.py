"""The table of forms: name → form, in the order in which `agree` lists them. One call adds a form, internal or external."""

from __future__ import annotations

from appell.errors import ModelError
from appell.forms.base import Form
from appell.reading import shown

FORMS: dict[str, Form] = {}
"""name → form, in the order in which `agree` lists them."""


def register(form: Form) -> Form:
    """Registers a form by its name for `agree`, reports and `ap.forms.NAME`; returns it.

    The name must be an unused identifier, and `source` must cite the equation that the form writes.
    """
    if not isinstance(form, Form):
        raise ModelError(f"register takes an instance of ap.forms.Form, not {shown(form)}")
    kind = type(form).__name__
    for label in ("name", "source"):
        if not isinstance(getattr(form, label, None), str) or not getattr(form, label):
            raise ModelError(f"the form {kind} has no {label}: give the class {label} = \"…\"")
    if not form.name.isidentifier():
        raise ModelError(f"the form {kind} is called {shown(form.name)}, which is no ap.forms.NAME; use a plain name")
    if form.name in FORMS:
        raise ModelError(f"there is a form '{form.name}' already, {type(FORMS[form.name]).__name__}; give yours another name")
    FORMS[form.name] = form
    return form
