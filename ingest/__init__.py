"""Ingesting: read files of bench and of other tools into the event log."""
