"""What measuring a model comes to, beside loops written by hand, and what it costs a training loop."""
