"""Modes of contact and friction: their data, what ends them, the events at faces, and the thresholds of contact."""
