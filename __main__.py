"""`python -m bench` is `bench`."""

import sys
from typing import Any


def main() -> Any:
    """Import and run the command line: Ctrl-C during the imports ends it, too, without a traceback."""
    try:
        from .cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    return run()


if __name__ == "__main__":
    main()
