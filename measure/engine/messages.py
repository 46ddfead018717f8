"""Messages between a worker and its runner, and the text of errors as events keep it."""

import importlib
import json
import os
from typing import Any

TAIL_BYTES = 4096


class Reporter:
    """What the runner is told: the phase and backend at work, and how each backend ended."""

    def __init__(self, descriptor: int) -> None:
        os.set_inheritable(descriptor, False)
        self._descriptor = descriptor
        self.phase = "load"

    def enter(self, phase: str, backend: str | None = None) -> None:
        """Say what comes next; without a backend it concerns all that are left."""
        self.phase = phase
        self._tell({"phase": phase, "backend": backend})

    def ended(self, backend: str, kind: str, status: str) -> None:
        """Say that a backend's outcome of that kind is recorded."""
        self._tell({"ended": backend, "kind": kind, "status": status})

    def found(self, backend: str, **numbers: Any) -> None:
        """Say what is known of a backend by now, for people to see; what counts is recorded."""
        self._tell({"found": backend, "numbers": numbers})

    def _tell(self, what: dict[str, Any]) -> None:
        os.write(self._descriptor, (json.dumps(what) + "\n").encode())


def first_line(text: str) -> str:
    """The first line that says something, at most 300 characters of it."""
    return next((clean(line.strip()[:300]) for line in text.splitlines() if line.strip()), "")


def clean(text: str) -> str:
    """Text that any file can hold: what is no Unicode becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def resolve(target: str) -> Any:
    """The object `module:attribute` names."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
