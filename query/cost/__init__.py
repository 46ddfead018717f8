"""What a scheduler step costs, by its tokens and requests."""
