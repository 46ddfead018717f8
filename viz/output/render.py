"""Rendering: Vega-Lite to PNG, SVG and PDF, in a child process, so that a crash of it does not end bench."""

import contextlib
import importlib.util
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ...warehouse.errors import BenchError, Exit, MissingExtra

TIMEOUT_S = 180.0
WORKER = Path(__file__).with_name("render_worker.py")
BUNDLE = "bundle"  # job kind: the JavaScript of Vega, Vega-Lite and Vega-Embed


class RenderError(BenchError):
    """The renderer failed on a chart."""

    exit_code = Exit.INTERNAL


@dataclass(frozen=True, slots=True)
class RenderRequest:
    """One thing to render."""

    kind: str  # png, svg, pdf or bundle
    spec: dict[str, Any] | None = None
    ppi: float = 72


class Renderer:
    """A renderer that starts in the background.

    Use as a context manager around the query. After an error it is of no more use.

    Raises:
        MissingExtra: vl-convert is not installed.
    """

    def __init__(self) -> None:
        found = importlib.util.find_spec("vl_convert")
        if found is None or found.origin is None:
            raise MissingExtra("vl-convert-python", "viz")
        packages = str(Path(found.origin).parent.parent)
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115 (__exit__ closes it; a pipe that nobody reads fills up)
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(WORKER), packages],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def render(self, jobs: Iterable[RenderRequest]) -> list[bytes]:
        """Render all jobs, in their order; what makes them goes on while the first are rendered.

        Raises:
            RenderError: The renderer refused a chart, died, or took longer than `TIMEOUT_S` for one.
        """
        with ThreadPoolExecutor(1) as beside:
            try:
                images = [beside.submit(self._render, job) for job in jobs]
                return [image.result(TIMEOUT_S) for image in images]
            except TimeoutError:
                self._process.kill()
                raise RenderError(
                    f"the renderer was still at work after {TIMEOUT_S:g} s, and was stopped. Draw fewer points."
                ) from None
            except BaseException:
                self._process.kill()  # nobody waits for the others
                raise

    def _render(self, job: RenderRequest) -> bytes:
        request, answer = self._process.stdin, self._process.stdout
        assert request is not None and answer is not None
        with contextlib.suppress(BrokenPipeError):
            request.write(json.dumps([job.kind, job.spec, job.ppi], allow_nan=False).encode() + b"\n")
            request.flush()
        head = answer.read(9)
        size = int.from_bytes(head[1:], "big")
        content = answer.read(size)
        if len(head) < 9 or len(content) < size:
            code = self._process.wait()
            self._complaints.seek(0)
            raise RenderError(_obituary(code, self._complaints.read()))
        if head[0]:
            raise RenderError(f"the renderer refused the chart: {content.decode(errors='replace')[:500]}")
        return content


def _obituary(code: int, complaint: bytes) -> str:
    last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the renderer died of {name}, most likely out of memory: {last[0][:300]}. Try HTML or JSON."
    return f"the renderer stopped with exit code {code}: {last[0][:300]}"
