"""`python -m bench` is `bench`."""

import os
import signal
from types import FrameType
from typing import Any

INTERRUPTED = "interrupted; everything recorded so far is kept"


def main() -> Any:
    """Import and run the command line: Ctrl-C during the imports ends it, too, in one sentence.

    Before this Python starts, for some hundredths of a second, and its traceback cannot be prevented: no code of ours has run.
    """
    watched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if watched:
        signal.signal(signal.SIGINT, _end)
    from .cli import main as run

    if watched:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, f"Error: {INTERRUPTED}\n".encode())
    os._exit(130)


if __name__ == "__main__":
    main()
