"""Contact without friction: impacts, contacts, and the modes between them."""
