"""Calls of functions from Python, for one state or a batch, on any back end."""
