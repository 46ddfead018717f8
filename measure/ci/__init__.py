"""`bench ci`: two revisions measured in turns in one job, and one verdict."""
