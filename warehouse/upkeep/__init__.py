"""Keeping a store in order: recover, verify, compact and archive lose nothing and change no result."""
