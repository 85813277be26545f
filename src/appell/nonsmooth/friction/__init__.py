"""Dry friction as modes: rows that stick, columns that slide, and the transitions between modes."""
