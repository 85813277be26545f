"""What is kept of a run instead of its history: reductions, what they are made of, and how they are followed along one run."""
