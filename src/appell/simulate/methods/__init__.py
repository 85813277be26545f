"""Integrators: embedded pairs, Taylor series, stiff methods."""
