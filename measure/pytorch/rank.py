"""Another rank of a distributed model: a process that rank 0 starts and controls."""

import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable

from ..system.own_process import own_command

PROCESS = f"{__package__}.rank_process"
CLOSING_S = 10.0  # for a rank to end by itself


class Rank:
    """A rank that this process started, or starts again elsewhere."""

    def __init__(self, environment: dict[str, str], message: str, died: Callable[[str], None] | None = None) -> None:
        """Start it, and tell it the workload and the settings.

        `died` is called with the reason if it ends before it is closed.
        """
        self._process = subprocess.Popen(own_command(PROCESS), stdin=subprocess.PIPE, env=environment, text=True)
        self._closing = False
        if died is not None:
            name = f"rank {environment.get('RANK', '')}"
            threading.Thread(target=self._watch, args=(name, died), name=f"bench-{name}", daemon=True).start()
        self.send(message)

    def _watch(self, name: str, died: Callable[[str], None]) -> None:
        code = self._process.wait()
        if not self._closing:
            died(f"{name} ended by {signal.Signals(-code).name}" if code < 0 else f"{name} ended with exit code {code}")

    def send(self, line: str) -> None:
        """Send it a line; if it has ended, rank 0 notices at the next collective."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """Close it; kill it if it waits in a collective that rank 0 never joins."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(timeout=CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
