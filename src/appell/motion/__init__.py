"""What a run gives back: the motion, its samples, its dataset and its files."""
