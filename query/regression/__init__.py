"""What got worse since the runs before, beyond noise, and what is no longer measured."""
