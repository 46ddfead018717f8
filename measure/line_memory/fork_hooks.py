"""Hooks that run first in a forked child. They run in the order they were registered: import this before threading.

Those of threading, logging and random are Python code, which may be traced: their lines would be written as the parent's.
"""

import os
from collections.abc import Callable

first: list[Callable[[], object]] = []


def _act() -> None:
    for act in first:
        act()


os.register_at_fork(after_in_child=_act)
