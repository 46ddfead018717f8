"""Bisection: which commit changed a number, and how sure that is."""
