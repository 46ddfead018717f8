"""Regressions against the runs before, beyond noise, and cases that are no longer measured."""
