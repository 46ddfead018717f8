"""Figures: what bench promises of speed and memory, measured with bench, each beside a reference from the same run."""
