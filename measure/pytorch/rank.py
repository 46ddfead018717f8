"""Another rank of a distributed model: a process that rank 0 starts and controls."""

import contextlib
import subprocess

from ..system.own_process import own_command

PROCESS = f"{__package__}.rank_process"
CLOSING_S = 10.0  # for a rank to end by itself


class Rank:
    """A rank that this process started, or starts again elsewhere."""

    def __init__(self, environment: dict[str, str], message: str) -> None:
        """Start it, and tell it the workload and the settings."""
        self._process = subprocess.Popen(own_command(PROCESS), stdin=subprocess.PIPE, env=environment, text=True)
        self.send(message)

    def send(self, line: str) -> None:
        """Send it a line; if it has ended, rank 0 notices at the next collective."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()

    def close(self) -> None:
        """Close it; kill it if it waits in a collective that rank 0 never joins."""
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(timeout=CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
