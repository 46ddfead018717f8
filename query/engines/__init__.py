"""The tables and views in other SQL engines."""
