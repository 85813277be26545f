"""The waist of the library: System → NormalForm, and the saddle point that it leads to."""

from appell.normal_form.normal_form import OUTPUTS, NormalForm, Row, normal_form

__all__ = ["OUTPUTS", "NormalForm", "Row", "normal_form"]
