"""First roots by bounds: intervals of a function of the graph, and where along a step it first falls through zero."""
