"""Periodic orbits: shooting, branches over a parameter, special points, derivatives of motions."""
