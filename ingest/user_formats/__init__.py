"""Tables and logs of no known tool, read by a mapping that the user gives."""
