"""Rules of statistics in worlds they were not made for: how often they are wrong."""
