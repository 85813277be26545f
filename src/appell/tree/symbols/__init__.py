"""A tree in symbols: exact scalars, its `System`, symbols of joints and frames and what they stand for on the graph."""
