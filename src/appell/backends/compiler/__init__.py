"""From text to loaded machine code: finding a compiler, building once, caching on disk, and recipes to find it again."""
