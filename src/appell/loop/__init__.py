"""The time loop in C and in Python, its methods, and the trace of a run; walls use a hook of it."""
