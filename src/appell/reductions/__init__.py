"""Reductions: what is kept of a run instead of its history, their parts, and their accumulation along one run."""
