"""Integrators: embedded pairs, Taylor series, stiff methods.

`register(embedded_pair(…))` makes a pair a method of `simulate`, on every back end; `register(Taylor(order=8, …))` a series.
"""

from appell.loop.methods.method_table import register
from appell.loop.methods.tableaux import Tableau, embedded_pair
from appell.loop.methods.taylor import Taylor

__all__ = ["Tableau", "Taylor", "embedded_pair", "register"]
