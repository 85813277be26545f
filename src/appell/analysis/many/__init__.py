"""Instruments that make many runs: diagrams, basins, sections, Lyapunov exponents."""
