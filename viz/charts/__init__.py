"""One module a chart."""
