"""Ways to run a module that torch.compile does not know: each makes something to call of a module and an example."""
