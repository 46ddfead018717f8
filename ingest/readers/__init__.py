"""Readers of files: text, CSV and JSON, record by record, with the line of whatever is broken."""
