"""What is written to be believed later: whole files, synced and with checksums, and the lock of a folder."""
