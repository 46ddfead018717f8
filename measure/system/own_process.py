"""Start a module of bench in a process of its own, whatever lies in the working folder.

`python -m` looks there first, so that a `bench.py` of the user's would be taken for this package. `-P` does not look there; the
working folder is added when bench is imported, for it has what the user wants to measure.
"""

import os
import runpy
import sys


def own_command(module: str, *arguments: str) -> list[str]:
    """The words that run a module of bench as `python -m` does."""
    return [sys.executable, "-P", "-m", __name__, module, *arguments]


def main() -> None:
    """Run the module that the first argument names."""
    sys.path.insert(0, os.getcwd())
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
