"""The result of a run: the motion, its samples, its dataset and its files."""
