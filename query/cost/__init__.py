"""The cost of a scheduler step by its tokens and requests."""
