"""`bench measure lines`: where a call of a function spends its time, line by line."""
