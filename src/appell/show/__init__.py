"""Pictures and typeset text of results; no mechanics."""
