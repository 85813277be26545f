"""A system with its numbers, ready to evaluate: accelerations, their derivatives, branches in time."""
