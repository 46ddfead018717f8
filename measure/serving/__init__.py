"""Serving engines: records the scheduler steps and requests of a running server, from inside or from what it publishes."""
