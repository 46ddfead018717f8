"""`python -m bench` is `bench`."""

import os
import signal
import sys
from types import FrameType
from typing import Any


def main() -> Any:
    """Import and run the command line: Ctrl-C during the imports ends it, too, in one sentence.

    Its traceback cannot be prevented while Python itself starts, some hundredths of a second: no code of ours has run.
    """
    watched = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if watched:
        signal.signal(signal.SIGINT, _end)
    _open_closed_streams()
    from .cli import main as run

    if watched:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return run()


def _open_closed_streams() -> None:
    """Give `>&-` the null device: else the next file that is opened, a journal, would be the standard output of what we start."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115 - as long as the process; it gets the lowest number that is free
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"Error: interrupted; everything recorded so far is kept\n")
    os._exit(130)


if __name__ == "__main__":
    main()
