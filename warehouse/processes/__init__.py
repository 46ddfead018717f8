"""The processes of a program that records: which run is theirs, and how the program ended."""
