"""Measuring any workload: sampling, estimates, workers, and an outcome for every case."""
