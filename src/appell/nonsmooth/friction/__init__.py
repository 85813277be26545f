"""Dry friction as modes: rows that stick, columns that slide, and what leads from one mode to the next."""
