"""Training loops of a user's own script: the time of their steps by phase, tokens, FLOPs and memory."""
