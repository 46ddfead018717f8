"""The look of charts: theme, colours, fonts, labels, units."""
