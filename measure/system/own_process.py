"""Start a module of bench in a process of its own, whatever lies in the working folder.

`python -m` looks there first, so that a `bench.py` or a `random.py` of the user's would be taken for what bench imports. `-P`
does not look there; the working folder is added when bench is imported, for it has what the user wants to measure.
"""

import importlib
import os
import sys


def own_command(module: str, *arguments: str) -> list[str]:
    """The words that run `main` of a module of bench, to which they are `sys.argv` from 1 on."""
    return [sys.executable, "-P", "-m", __name__, module, *arguments]


def main() -> None:
    """Import the module that the first argument names, and run its `main`."""
    del sys.argv[0]
    module = importlib.import_module(sys.argv[0])
    sys.path.insert(0, os.getcwd())
    module.main()


if __name__ == "__main__":
    main()
