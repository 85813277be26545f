"""Decisions of the library that are broken on purpose, to see that the families notice it."""
