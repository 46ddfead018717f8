"""`bench bisect`: measures revisions until the commit that changed a number is known."""
