"""Measuring: run workloads and record events."""
