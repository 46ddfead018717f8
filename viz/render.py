"""Rendering: Vega-Lite to PNG, SVG and PDF, in a child process that may die without taking bench along."""

import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ..warehouse.errors import BenchError, Exit, MissingExtra

TIMEOUT_S = 180.0
WORKER = Path(__file__).with_name("worker.py")
BUNDLE = "bundle"  # job kind: the JavaScript of Vega, Vega-Lite and Vega-Embed


class RenderError(BenchError):
    """The renderer failed on a chart."""

    exit_code = Exit.INTERNAL


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to render."""

    kind: str  # png, svg, pdf or bundle
    spec: dict[str, Any] | None = None
    ppi: float = 72


class Renderer:
    """A renderer that is starting while you do something else.

    Use as a context manager around the query; `render` may be called once.

    Raises:
        MissingExtra: vl-convert is not installed.
    """

    def __init__(self) -> None:
        found = importlib.util.find_spec("vl_convert")
        if found is None or found.origin is None:
            raise MissingExtra("vl-convert-python", "viz")
        packages = str(Path(found.origin).parent.parent)
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(WORKER), packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()

    def render(self, jobs: Sequence[Job]) -> list[bytes]:
        """Render all jobs, in their order.

        Raises:
            RenderError: The renderer refused a chart, died, or took longer than `TIMEOUT_S`.
        """
        request = json.dumps([[job.kind, job.spec, job.ppi] for job in jobs], allow_nan=False).encode()
        try:
            answer, complaint = self._process.communicate(request, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise RenderError(
                f"the renderer was still at work after {TIMEOUT_S:.0f} s, and was stopped. Draw fewer points."
            ) from None
        code = self._process.returncode
        if code:
            raise RenderError(_obituary(code, complaint))
        return _images(answer)


def _images(answer: bytes) -> list[bytes]:
    images = []
    at = 0
    while at < len(answer):
        size = int.from_bytes(answer[at + 1 : at + 9], "big")
        content = answer[at + 9 : at + 9 + size]
        if answer[at]:
            raise RenderError(f"the renderer refused the chart: {content.decode(errors='replace')[:500]}")
        images.append(content)
        at += 9 + size
    return images


def _obituary(code: int, complaint: bytes) -> str:
    last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the renderer died of {name}, most likely out of memory: {last[0][:300]}. Try HTML or JSON."
    return f"the renderer stopped with exit code {code}: {last[0][:300]}"
