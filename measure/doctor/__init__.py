"""`bench doctor`: what would disturb a measurement on this machine, and its noise floor."""
