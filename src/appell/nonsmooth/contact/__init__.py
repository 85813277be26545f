"""Active unilateral constraints: impacts, contacts, and the modes between them."""
