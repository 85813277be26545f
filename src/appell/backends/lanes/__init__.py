"""A function over vectors of states: one lane is one state."""
