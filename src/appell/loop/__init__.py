"""The time loop in C and in Python, its methods, and the trace of a run; it knows nothing about walls."""
