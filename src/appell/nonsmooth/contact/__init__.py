"""Unilateral constraints while they act: impacts, contacts, and the modes between them."""
