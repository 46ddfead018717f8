"""What runs workloads and emits events."""
