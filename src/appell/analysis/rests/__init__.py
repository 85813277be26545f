"""Equilibria, steady motions and branches of equilibria, with their reactions and stability."""
