"""How any workload is measured: sampling, estimates, workers, and an outcome for every case."""
