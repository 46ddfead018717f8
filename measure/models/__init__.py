"""`bench measure models`: plans of models, measured, resumed, shared and compared."""
