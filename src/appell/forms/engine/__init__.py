"""Common tools of the classical forms: derivation, solution, evaluation and display."""
