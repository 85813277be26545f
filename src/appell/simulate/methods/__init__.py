"""Integrators: embedded pairs, Taylor series, stiff methods.

`register(embedded_pair(…))` makes a pair a method of `simulate`, on every back end; `register(Taylor(order=8, …))` a series.
"""

from appell.simulate.methods.method_table import register
from appell.simulate.methods.tableaux import Tableau, embedded_pair
from appell.simulate.methods.taylor import Taylor

__all__ = ["Tableau", "Taylor", "embedded_pair", "register"]
