"""Integrators: embedded pairs, Taylor series, stiff methods.

`register(embedded_pair(…))` makes a pair a method of `simulate`, on every back end.
"""

from appell.simulate.methods.tableaux import Tableau, embedded_pair, register

__all__ = ["Tableau", "embedded_pair", "register"]
