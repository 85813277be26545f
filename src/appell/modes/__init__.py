"""What a mode says, what can end one, what is recorded at faces, and the thresholds of contact."""
