"""Published sites."""
