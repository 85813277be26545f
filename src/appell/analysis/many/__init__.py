"""Analyses that need many runs: diagrams, basins, sections, Lyapunov exponents."""
