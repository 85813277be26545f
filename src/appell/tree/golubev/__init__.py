"""Golubev's equations of chains, trees and free bodies, in the letters of the source."""
