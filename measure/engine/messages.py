"""Messages between a worker and its runner, and the text of errors as events keep it."""

import importlib
import json
import os
from typing import Any

from ...warehouse.secrets import masked

TAIL_BYTES = 4096


class Reporter:
    """Reports to the runner: the running phase and backend, and how each backend ended."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self.phase = "load"

    def enter(self, phase: str, backend: str | None = None) -> None:
        """Report the next phase; without a backend it concerns all remaining ones."""
        self.phase = phase
        self._send({"phase": phase, "backend": backend})

    def ended(self, backend: str, kind: str, status: str) -> None:
        """Report that an outcome of this kind is recorded for a backend."""
        self._send({"ended": backend, "kind": kind, "status": status})

    def found(self, backend: str, **numbers: Any) -> None:
        """Report preliminary numbers of a backend, for display only."""
        self._send({"found": backend, "numbers": numbers})

    def crowded(self, backend: str) -> None:
        """Report that memory ran out beside other backends: it has no outcome before it was tried with the baseline alone."""
        self._send({"crowded": backend})

    def lost(self, reason: str) -> None:
        """Report that the device is lost: what has no outcome needs another process."""
        self._send({"lost": reason})

    def _send(self, what: dict[str, Any]) -> None:
        os.write(self._descriptor, (json.dumps(what) + "\n").encode())


def first_line(text: str) -> str:
    """The first non-empty line, at most 300 characters of it."""
    return next((clean(line.strip())[:300] for line in text.splitlines() if line.strip()), "")


def clean(text: str) -> str:
    """Text that any file can hold: lone surrogates become question marks, and what looks like a secret `***`."""
    return masked(text.encode("utf-8", "replace").decode())


def resolve(target: str) -> Any:
    """The object that `module:attribute` names."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
