"""From Python into a function and back: one state or a batch, whichever back end computes it."""
