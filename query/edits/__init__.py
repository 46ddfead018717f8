"""Edits of recorded runs: forget, remember, rename, tag."""
