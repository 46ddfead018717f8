"""The event log and the DuckDB warehouse derived from it."""
