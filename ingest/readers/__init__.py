"""How files are read: text, CSV and JSON, record by record, with the line of whatever is broken."""
