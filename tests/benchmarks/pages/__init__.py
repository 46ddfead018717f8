"""Figures of pages in a browser."""
