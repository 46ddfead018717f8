"""Listeners for the progress of a plan: a silent one, and one that writes lines."""

from collections.abc import Mapping
from typing import Any

from ...warehouse.console.tables import escape
from ..options import progress
from .sampling import busy
from .workload import NOT_FAILURES, Workload


class ProgressListener:
    """Receives the progress of a plan, from two threads; does nothing."""

    revision = ""  # of the code that is measured next, where there are several

    def title(self, workload: Workload) -> str:
        """A workload in words, with its revision."""
        return f"{workload} @{self.revision}" if self.revision else str(workload)

    def plan(self, workloads: int) -> None:
        """Add to the number of workloads to come."""

    def begin(self, workload: Workload) -> None:
        """The next workload begins."""

    def enter(self, phase: str, backend: str | None) -> None:
        """Its worker enters this phase, of one backend or of all."""

    def found(self, backend: str, numbers: Mapping[str, Any]) -> None:
        """New results of a backend: status, peak_bytes, speedup with low, high and n, share of disturbed samples."""

    def end(self, statuses: Mapping[str, str]) -> None:
        """The workload is done; its backends ended with these statuses."""

    def close(self) -> None:
        """The end: clear the line for what is written next."""


class ProgressLines(ProgressListener):
    """A line for each workload, `3 of 12 mlp inference b8`, and for each failure."""

    def __init__(self) -> None:
        self._all = self._begun = 0
        self._workload = self._name = ""
        self._busy = False

    def plan(self, workloads: int) -> None:
        """Add to the number of workloads to come."""
        self._all += workloads

    def begin(self, workload: Workload) -> None:
        """Write its name, and its number of how many."""
        self._begun += 1
        self._workload, self._name = escape(self.title(workload)), workload.name
        progress(f"{self._begun} of {self._all} {self._workload}")

    def found(self, backend: str, numbers: Mapping[str, Any]) -> None:
        """Write that the machine is busy, once."""
        if not self._busy and (sentence := busy(numbers.get("disturbed", 0.0))):
            self._busy = True
            progress(f"{self._workload}: {sentence}")

    def end(self, statuses: Mapping[str, str]) -> None:
        """Write what failed."""
        for backend, status in statuses.items():
            if status not in NOT_FAILURES:
                # a function stands where models have a backend, and the workload is named for the first of them
                is_function = self._name in statuses
                called = self._workload.replace(escape(self._name), escape(backend), 1) if is_function else ""
                progress(f"{called or f'{self._workload} {backend}'}: {status}")

    def close(self) -> None:
        """Erase the line."""
        progress("")
