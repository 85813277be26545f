"""The time loop in C and in Python, its methods, and the trace that it leaves; it knows nothing of walls."""
