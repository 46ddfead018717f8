"""`bench measure memory`: where a program's memory goes, line by line."""
