"""`bench measure command`: how long commands take, what they need, and which is faster."""
