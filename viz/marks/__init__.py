"""Marks of charts: points, lines, bars, panels, legends."""
