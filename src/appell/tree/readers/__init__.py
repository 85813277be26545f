"""Readers of robot descriptions: a document to joints, shapes and notes; a table with one record for each kind."""
