"""The normal form, the narrow waist of the library: System → NormalForm, and its saddle point."""

from appell.normal_form.normal_form import OUTPUTS, NormalForm, Row, normal_form

__all__ = ["OUTPUTS", "NormalForm", "Row", "normal_form"]
