"""The machine: devices, memory, processes, and disturbances of samples."""
