"""First roots by interval bounds: ranges of a graph function, and where along a step it first falls through zero."""
