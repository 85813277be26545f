"""Loops built on the plain time loop: from break to break, reset to reset, surface to surface, through losses of rank."""
