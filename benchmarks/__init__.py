"""Ratios against peers, measured in one run: `python -m benchmarks [names…] [--quick]`.

Each benchmark is a module with `tables(quick) -> list[Table]`. Both sides of a ratio run interleaved in one process (or
in processes started alike), the least time of several repeats counts, and their results must agree before a time is
printed: a `Disagreement` is raised otherwise.
"""
