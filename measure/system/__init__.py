"""What the machine tells: devices, memory, processes, and what disturbs a sample."""
