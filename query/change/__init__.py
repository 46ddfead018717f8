"""Changes over many runs: steps, drifts, excursions, and series that know two levels."""
