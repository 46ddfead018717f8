"""Git revisions of the user's code: checked out, built and measured in turns, by the same bench."""
