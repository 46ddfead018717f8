"""How charts look: theme, colours, fonts, labels, units."""
