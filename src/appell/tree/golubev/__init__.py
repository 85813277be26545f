"""Golubev's equations of chains, trees and free bodies, in the notation of the source."""
