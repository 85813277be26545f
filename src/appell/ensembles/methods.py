"""Methods of ensembles: the pairs of `simulate`, and the classical Runge–Kutta method for fixed steps."""

from __future__ import annotations

import numpy as np

from appell.loop.methods.tableaux import TABLEAUX, Tableau
from appell.loop.methods.taylor import SERIES, Taylor

rk4 = Tableau(
    name="rk4",
    order=4,
    dense_order=3,
    error_order=4,
    A=np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1, 0]]),
    B=np.array([1, 2, 2, 1]) / 6,
    C=np.array([0, 0.5, 0.5, 1]),
    E=np.zeros((1, 5)),
    A_extra=np.zeros((0, 5)),
    C_extra=np.zeros(0),
    D=np.zeros((0, 5)),
    safety=0.9,
    beta=0.0,
    shrink=0.2,
    grow=5.0,
)
"""Order 4 in 4 stages, by W. Kutta (Zeitschrift für Mathematik und Physik 46 (1901) 435–453). It has no error estimate, so it
runs with a fixed step only; its dense output is the cubic through both ends and their slopes."""


def tableau_named(name: str) -> Tableau:
    return rk4 if name == "rk4" else TABLEAUX[name]


def lane_method(name: str) -> Tableau | Taylor:
    """The method of this name, if it runs in lanes."""
    return rk4 if name == "rk4" else SERIES[name] if name in SERIES else TABLEAUX[name]


def fixed_methods() -> tuple[str, ...]:
    """Names of the methods that run with `step=`."""
    return ("rk4", *TABLEAUX)


__all__ = ["fixed_methods", "lane_method", "rk4", "tableau_named"]
