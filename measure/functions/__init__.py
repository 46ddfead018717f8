"""`bench measure function`: how long functions take, and which is faster."""
