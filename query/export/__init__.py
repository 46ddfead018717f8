"""Runs written as the files of other tools."""
