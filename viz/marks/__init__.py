"""What charts are drawn with: points, lines, bars, panels, legends."""
