"""`python -m bench` is `bench`."""

from .cli import main

main()
