"""Git revisions of the user's code, or versions of packages: built or installed, and measured in turns by the same bench."""
