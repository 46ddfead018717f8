"""`bench measure serving`: the scheduler steps of a running server, from what it publishes or writes."""

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import TYPE_CHECKING

import click

from ...warehouse.console.numbers import counted
from ...warehouse.console.options import Command, Values, format_option, store_option
from ...warehouse.console.tables import escape, obeys
from ...warehouse.errors import Exit
from ...warehouse.forward_pass import TIME_SPANS, UNKNOWN_SPAN
from ...warehouse.interruption import heard
from ...warehouse.store import Store
from ..options import SECONDS, config_option, progress, recorded, tags_option, talk

if TYPE_CHECKING:
    from .follow import Follower

RESULTS = ("steps", "mean_model_run_ms", "tokens", "tokens_per_second", "mean_waiting", "max_waiting")


@click.command("serving", cls=Command)
@click.option("--from", "addresses", cls=Values, required=True, metavar="ADDRESS…",
              help="Where the engine publishes, zmq://HOST:PORT or ipc:///PATH, or the files that it writes: a path, a folder, "
                   "or a pattern in quotes.")  # fmt: skip
@click.option("--engine", type=click.Choice(list(TIME_SPANS)),
              help="The engine that serves. It decides what the time of a step spans, which its records do not say.")  # fmt: skip
@click.option("--duration", type=SECONDS, metavar="SECONDS", help="How long to follow; else until Ctrl-C.")
@click.option("--idle", "idle_s", type=SECONDS, metavar="SECONDS",
              help="Stop when nothing has come for this long.")  # fmt: skip
@config_option
@tags_option
@format_option
@store_option
def command(
    addresses: tuple[str, ...], engine: str | None, duration: float | None, idle_s: float | None, config: str | None,
    tags: dict[str, str], fmt: str, store: Store,
) -> int:  # fmt: skip
    """Follow a server of SGLang or Dynamo and record its scheduler steps.

    It reads the forward pass metrics that the server publishes (SGLang's --enable-forward-pass-metrics) or writes
    (Dynamo's --fpm-trace), until Ctrl-C, or until --duration or --idle is over. What cannot be read is kept as a
    reject.

    \b
        bench measure serving --engine sglang --from ipc:///tmp/fpm.0
    """
    from ...warehouse import recorder
    from .follow import Follower
    from .streams import open_stream

    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(contextlib.closing(open_stream(address))) for address in addresses]
        for stream in streams:
            if not stream.is_there():
                talk(f"nothing is at {escape(stream.name)} yet; waiting for it")
        about = {"engine": engine} if engine else {}
        source = {"from": " ".join(addresses)}
        run = stack.enter_context(
            recorder.run(
                config, suite="serving", source="serving", store=store, tags={**about, **tags}, settings=source
            )
        )
        follower = Follower(run, streams, time_span=TIME_SPANS.get(engine or "", UNKNOWN_SPAN))
        talk(f"following {', '.join(map(escape, addresses))}. Stop with Ctrl-C")
        with _stopping(duration) as stopped:
            follower.follow(
                stopped, idle_s=idle_s or float("inf"), show=progress if obeys(sys.stderr) else lambda text: None
            )
        if obeys(sys.stderr):
            progress("")
        follower.finish()
    _show(store, run.run_id, fmt)
    _account(follower)
    draw = f"Draw them with: bench viz runtime-vs-tokens --runs {run.run_id}"
    recorded(run, draw if follower.steps else "It holds no step.")
    return Exit.OK


@contextlib.contextmanager
def _stopping(duration_s: float | None) -> Iterator[Callable[[], bool]]:
    """True to stop, asked between two records, so that Ctrl-C and SIGTERM leave all of them whole. A second signal interrupts."""
    told: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def tell(number: int, frame: FrameType | None) -> None:
        heard(frame)
        told.append(number)
        for each, handler in before.items():
            signal.signal(each, handler)

    for number in before:
        signal.signal(number, tell)
    end = time.monotonic() + (duration_s or float("inf"))
    try:
        yield lambda: bool(told) or time.monotonic() >= end
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _show(store: Store, run_id: str, fmt: str) -> None:
    from ...warehouse.console.tables import write_rows
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        query = f"SELECT {', '.join(RESULTS)} FROM step_breakdown(runs := [?])"
        write_rows(RESULTS, warehouse.rows(query, [run_id]), fmt)


def _account(follower: "Follower") -> None:
    talk(
        f"{counted(follower.records, 'record')}: {counted(follower.steps, 'step')}, "
        f"{counted(follower.heartbeats, 'heartbeat')}, {follower.rejected:,} rejected"
    )
    if follower.counters.missing:
        talk(f"passes of the engine that are missing between them: {follower.counters.missing:,}")
    if follower.counters.restarts:
        talk(
            f"times a counter went back: {follower.counters.restarts:,}, as after a restart of the engine, or where two "
            "workers have one name"
        )
    if follower.sampled:
        talk(
            f"{counted(follower.sampled, 'step')} of a sampled capture: most passes were not recorded. For all of them set "
            "DYN_FPM_MODE=full"
        )
    if follower.rejected:
        talk("See what could not be read with: bench list rejects")
    if not follower.records:
        talk("Nothing came. Is the server there, and does it publish?")
