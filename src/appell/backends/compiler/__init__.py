"""Text to loaded machine code: finding a compiler, building once, keeping on disk, recipes that find it again."""
