"""`python -m bench` is `bench`."""

import os
import signal
import sys
from types import FrameType
from typing import Any


def main() -> Any:
    """Import and run the command line: Ctrl-C or SIGTERM during the imports ends it, too, in one sentence.

    Its traceback cannot be prevented while Python itself starts, some hundredths of a second: no code of ours has run.
    """
    usual: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
    watched = [number for number, handler in usual.items() if signal.getsignal(number) is handler]
    for number in watched:
        signal.signal(number, _end)
    _open_closed_streams()
    from .cli import main as run

    for number in watched:
        signal.signal(number, usual[number])
    return run()


def _open_closed_streams() -> None:
    """Give `>&-` the null device: else the next file that is opened, a journal, would be the standard output of what we start."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115 - as long as the process; it gets the lowest number that is free
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _end(number: int, frame: FrameType | None) -> None:
    how = b"ended by SIGTERM" if number == signal.SIGTERM else b"interrupted"
    os.write(2, b"Error: " + how + b"; everything recorded so far is kept\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
