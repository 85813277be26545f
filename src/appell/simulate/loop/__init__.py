"""The time loop, in C and in Python."""
