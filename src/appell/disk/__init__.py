"""Reliable files: written as a whole, synced and with checksums; and a lock for a folder."""
