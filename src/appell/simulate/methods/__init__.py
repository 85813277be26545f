"""Integrators added by users: embedded pairs and Taylor series become methods of `simulate`.

`register(embedded_pair(…))` makes a pair a method of `simulate`, on every back end; `register(Taylor(order=8, …))` a series.
"""

from appell.loop.methods import Tableau, Taylor, embedded_pair, register

__all__ = ["Tableau", "Taylor", "embedded_pair", "register"]
