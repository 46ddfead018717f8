"""What changed over many runs: steps, slow drifts and spikes."""
