"""Equilibria, steady motions and branches of them: finding them, and what holds them."""
