"""A function as text: the order of its instructions, the pieces they are split into, and the dialects of the target
languages."""
