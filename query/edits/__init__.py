"""What users change of runs afterwards: forget, remember, rename, tag."""
