"""A function as text: the order of its instructions, the pieces they are cut into, the dialects they are written in."""
