"""Charts of queries."""
