"""A tree in symbols: exact scalars, its `System`, symbols of joints and frames, and their values on the graph."""
