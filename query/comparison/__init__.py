"""Two sides compared case by case: speedups, ratios with intervals, and verdicts."""
