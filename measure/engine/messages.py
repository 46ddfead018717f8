"""Messages between a worker and its runner, and errors as outcomes keep them."""

import importlib
import json
import os
from typing import Any

from ...warehouse.errors import described, text_of
from ...warehouse.secrets import masked

TAIL_BYTES = 4096
OUT_OF_MEMORY = (  # by torch's CPU allocator, by CUDA, and by its libraries, which have no class of exception for it
    "not enough memory", "can't allocate memory", "out of memory", "cublas_status_alloc_failed", "cudnn_status_alloc_failed",
)  # fmt: skip


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


def reason_of(error: BaseException) -> str:
    """An exception in one line."""
    return first_line(described(error))


def status_of(error: BaseException) -> str:
    """The status for an exception: OOM if memory ran out on the host or a device, else fail_to_run.

    A compiler wraps what failed: its causes count, too.
    """
    seen: list[BaseException] = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return "OOM" if any(map(_is_out_of_memory, seen)) else "fail_to_run"


def _is_out_of_memory(error: BaseException) -> bool:
    text = text_of(error).lower()
    named = isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
    return named or any(words in text for words in OUT_OF_MEMORY)


def clean(text: str) -> str:
    """Text that any file can hold: lone surrogates become question marks, and what looks like a secret `***`."""
    return masked(text.encode("utf-8", "replace").decode())


def resolve(target: str) -> Any:
    """The object that `module:attribute` names."""
    module, _, attribute = target.partition(":")
    return getattr(importlib.import_module(module), attribute)
