"""Shared by all commands: options, tables, and numbers for people."""
