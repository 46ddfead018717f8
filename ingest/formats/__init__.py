"""One module a format: recognise from content, parse into events."""
