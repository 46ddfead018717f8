"""A figure as files: PNG, SVG, PDF, HTML, and the terminal."""
