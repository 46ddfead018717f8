"""The contents of a run: one row a case, as `bench show` prints it."""
