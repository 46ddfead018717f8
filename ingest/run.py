"""Carry out a plan: load files into the event log, a batch at a time, then the log into the warehouse."""

import contextlib
import functools
import gc
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..warehouse.console.numbers import counted
from ..warehouse.store import Notify, Store
from .accounting import Line, check_counts, line_of, notes_of, sources_of
from .facts import FACTS, missing_facts, note_on_dates
from .format import Options, Part, Tally
from .load_notes import notes_on_setups, notes_on_units
from .plan import IngestPlan, NewPart, SourceOptions, make_plan, parse
from .progress import IngestProgress
from .reader_faults import Fault, ReaderFailed, faults_of, reading
from .source_index import KnownSources, read_index, read_log, write_index

if TYPE_CHECKING:
    import duckdb

    from ..warehouse.events import RunRecord

THREADS = 2  # files read side by side, each by one thread: its lines are numbered in order
MEMORY_LIMIT = "300MB"
ELSEWHERE = (
    "says another environment than the file that its run was described by; give it a config of its own with NAME:PATH"
)
KNOWN_SPAN = (
    "--engine concerns new lines; those that are known keep what their times span. Load a file anew with:"
    " bench forget FILE --yes, then bench ingest FILE --again --engine NAME"
)
OBJECTS = 1_000_000  # new ones between two looks of the garbage collector, which took a quarter of the time
BATCH_BYTES = 8 << 20  # small files share a batch up to this, a larger one has its own


@dataclass(slots=True)
class IngestReport:
    """The result of an ingest, or of a dry run."""

    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plan: IngestPlan = field(default_factory=IngestPlan)
    runs: list[str] = field(default_factory=list)  # of which anything was loaded
    recovered: int = 0  # journals of processes that died
    copied: int = 0  # files of other stores


def ingest(
    store: Store,
    paths: list[str],
    *,
    sources: SourceOptions | None = None,
    options: Options | None = None,
    tags: Mapping[str, str] | None = None,
    facts: Mapping[str, Any] | None = None,
    dry_run: bool = False,
    wait: bool = True,
    notify: Notify | None = None,
    progress: IngestProgress | None = None,
) -> IngestReport:
    """Load files into a store, only what is new of them, and publish the warehouse.

    Without paths, journals of processes that died are sealed and loaded.

    Args:
        store: The store; created if missing and there is anything to load, except in a dry run.
        paths: PATH or NAME:PATH each; a file or a folder, whose files are one result set.
        sources: Format and config for all of them.
        options: Settings for the formats.
        tags: Labels for the runs that are new.
        facts: Columns of `runs` for those new runs whose files do not say them; see `facts.parse_facts`.
        dry_run: Only make the plan.
        wait: Wait for another loader rather than raise.
        notify: Called once with a sentence that names the process it waits for.
        progress: Receives the progress.

    Raises:
        BenchError: A path does not exist, or nothing in any of them is recognised, or without paths the store is missing.
        StoreBusy: Another process is loading and `wait` is False.
    """
    sources, progress = replace(sources or SourceOptions(), facts=facts or {}), progress or IngestProgress()
    wanted = [parse(text, sources) for text in paths]
    if dry_run:
        plan = make_plan(wanted, sources, read_index(store) or read_log(store), progress)
        return IngestReport(lines=[line_of(item) for item in plan.items], notes=plan.notes, plan=plan)
    from ..warehouse.load import must_exist

    if not paths:
        must_exist(store)
    first = None if store.may_hold() else make_plan(wanted, sources, KnownSources(), progress)
    if first is not None and not first.loads:  # a store that is missing is made for what is loaded
        return IngestReport(notes=first.notes, plan=first)
    with store.lock(wait=wait, notify=notify):
        known = read_index(store)
        behind = known is None or not paths or any(store.journals.iterdir())
        known = known or read_log(store)
        if first is not None and not known.by_sha256:  # else another process has loaded meanwhile
            plan = first
        else:
            plan = make_plan(wanted, sources, known.all_forgotten() if sources.anew else known, progress)
        report = IngestReport(plan=plan, notes=plan.notes)
        parts = [item.new for item in plan.items if item.new is not None]
        progress.reading(len(parts), sum(part.size_bytes for part in parts))
        tallies: dict[tuple[str, int], Tally] = {}
        if behind or parts or plan.stores:
            with _publishing(store, report, progress):
                report.copied = sum(_copy_store(path, store, report) for path in plan.stores)
                from ..warehouse.snapshot import make_ready, meanwhile

                loader = _Loader(
                    store, options or Options(), tags or {}, facts or {}, progress, tallies, known.forgotten
                )
                if parts:
                    with meanwhile(functools.partial(make_ready, store)):
                        loader.load(parts)
                report.notes += loader.notes
                if loader.left_forgotten:
                    report.notes.append(_still_forgotten(len(loader.left_forgotten)))
        report.lines = [line_of(item, tallies) for item in plan.items]
        report.notes += (*notes_of(parts, tallies), *notes_on_setups(parts, tallies), *notes_on_units(parts, tallies))
        report.runs = sorted({run for part in parts for run in tallies[part.key].shares or [part.run_id]})
        if options is not None and options.engine and any(item.known_lines for item in plan.items):
            report.notes.append(KNOWN_SPAN)
        return report


def _still_forgotten(runs: int) -> str:
    was = counted(runs, "run", "was", "were")
    return f"{was} forgotten, and not loaded again from these files. List what was forgotten with: bench list runs --forgotten"


def _copy_store(path: Path, store: Store, report: IngestReport) -> int:
    from . import copy_store

    return copy_store.copy(path, store, report.notes)


@contextlib.contextmanager
def _publishing(store: Store, report: IngestReport, progress: IngestProgress) -> Iterator[None]:
    """Bring the warehouse up to date afterwards, also with what came before an error or Ctrl-C."""
    from ..warehouse.load import load_locked

    try:
        yield
    finally:
        progress.publishing()
        loaded = load_locked(store)
        report.recovered = len(loaded.recovered)
        report.notes += loaded.notes
        write_index(store, read_log(store))


class _Loader:
    """Reads parts into the log, on two threads where that helps."""

    def __init__(
        self,
        store: Store,
        options: Options,
        tags: Mapping[str, str],
        facts: Mapping[str, Any],
        progress: IngestProgress,
        tallies: dict[tuple[str, int], Tally],
        forgotten: Set[str],
    ) -> None:
        from ..warehouse.log import EventLog

        self.store = store
        self.log = EventLog(store)
        self.options = options
        self.tags = {"engine": options.engine, **tags} if options.engine else tags
        self.facts = facts
        self.progress = progress
        self.tallies = tallies
        self.forgotten = forgotten
        self.left_forgotten: set[str] = set()  # runs that were met and not loaded
        self.notes: list[str] = []
        self._written: dict[str, str | None] = {}  # runs that have their row, and the environment it says
        self._dated: list[str] = []  # names that say when runs began
        self._differs: set[str] = set()  # facts that files say otherwise
        self._claimed: set[str] = set()  # runs of the store, and those named by content since
        self._loaded_at: dict[tuple[str, int], int] = {}  # of each part, in the order given, whatever thread is faster
        self._faults: list[Fault] = []
        self._stopped = threading.Event()
        self._lock = threading.Lock()  # one batch is published at a time, so that the first of a run has its `runs` row
        self._database: duckdb.DuckDBPyConnection | None = None

    def load(self, parts: list[NewPart]) -> None:
        """Read every part; each is wholly in the log afterwards, or an error says why.

        Raises:
            BenchError: A reader failed: its file is not loaded, and all others are.
        """
        with _seldom_collecting():
            self._load(parts)
        if self._faults:
            raise faults_of(self._faults, len(parts))
        self.notes += note_on_dates(self._dated)
        self.notes += [
            f"--set {name}: what the files say differs, and is kept"
            for name, column in FACTS.items()
            if column in self._differs
        ]

    def _load(self, parts: list[NewPart]) -> None:
        new = {part.run_id for part in parts if part.new_run}
        known = {part.run_id for part in parts} - new
        self._loaded_at = {part.key: instant for instant, part in enumerate(parts, time.time_ns() // 1000)}
        if known or any(part.format.histories for part in parts):
            there = self._runs_there()
            self._written = {run_id: there.get(run_id) for run_id in known}
            self._claimed = set(there)
        batches = list(_batches(parts))
        if len(batches) < 2:
            for batch in batches:
                self._load_batch(batch)
            return
        from concurrent.futures import ThreadPoolExecutor

        from ..warehouse.interruption import break_off

        with ThreadPoolExecutor(THREADS, thread_name_prefix="ingest") as pool:
            try:
                for _ in pool.map(self._load_batch, batches):
                    pass
            except BaseException:
                self._stopped.set()  # nothing is half in
                pool.shutdown(wait=False, cancel_futures=True)
                break_off()
                raise

    def _load_batch(self, parts: list[NewPart]) -> None:
        """Load parts together; one by one where a reader fails, so that its file alone is left out."""
        claimed: set[str] = set()
        try:
            self._load_together(parts, claimed)
        except ReaderFailed as failed:
            with self._lock:
                self._claimed -= claimed
            if len(parts) == 1:
                self._faults.append(Fault(parts[0], failed.error))
                return
            for part in parts:
                self._load_batch([part])

    def _load_together(self, parts: list[NewPart], claimed: set[str]) -> None:
        from ..warehouse.events import Metric
        from ..warehouse.recorder import uuid7
        from .large_values import TOO_LARGE, has_too_large

        done: dict[tuple[str, int], Tally] = {}
        with contextlib.ExitStack() as stack:
            with self.log.batch(uuid7()) as batch:
                with reading():
                    for part in parts:
                        tally = part.format.read(self._part(part, claimed), batch)
                        check_counts(part, tally)
                        for source in sources_of(part, tally, self._loaded_at[part.key]):
                            batch.add(source)
                        done[part.key] = tally
                    batch.finish()
                stack.enter_context(self._lock)
                if has_too_large(batch.parts.get(Metric, [])) and TOO_LARGE not in self.notes:
                    self.notes.append(TOO_LARGE)
                for run in self._runs(parts, done):
                    batch.add(run)
            self.tallies |= done
        for part in parts:
            self.progress.read(part.size_bytes)

    def _part(self, part: NewPart, claimed: set[str]) -> Part:
        return Part(
            path=part.path, run_id=part.run_id, source_id=part.source_id, start_byte=part.start_byte,
            end_byte=part.end_byte, first_line=part.first_line, options=self.options, cursor=self._cursor,
            config=part.config, format=part.format.name, name=part.name,
            claim=functools.partial(self._claim, claimed), stopped=self._stopped.is_set,
        )  # fmt: skip

    def _cursor(self) -> "duckdb.DuckDBPyConnection":
        import duckdb

        from ..warehouse.interruption import breakable
        from ..warehouse.log import SPILL

        with self._lock:
            if self._database is None:
                spill = str(self.store.root / SPILL)
                self._database = duckdb.connect(
                    config={"threads": 1, "memory_limit": MEMORY_LIMIT, "temp_directory": spill}
                )
        return breakable(self._database.cursor())

    def _runs_there(self) -> dict[str, str | None]:
        """The runs of the store, and the environment of each."""
        from ..warehouse.database import Warehouse
        from ..warehouse.load import load_locked

        load_locked(self.store)
        with Warehouse.open(self.store) as warehouse:
            return dict(warehouse.rows("SELECT run_id, environment_id FROM runs"))

    def _claim(self, claimed: set[str], run_id: str) -> bool:
        """Claim a run for the batch that has claimed the others: returns whether it is neither in the store nor claimed yet."""
        with self._lock:
            if run_id in self.forgotten:
                self.left_forgotten.add(run_id)
                return False
            new = run_id not in self._claimed
            if new:
                self._claimed.add(run_id)
                claimed.add(run_id)
            return new

    def _runs(self, parts: Iterable[NewPart], done: Mapping[tuple[str, int], Tally]) -> "list[RunRecord]":
        """Rows for the runs of some parts that have no row yet: as a part describes them, else without description."""
        from ..warehouse.events import RunRecord, as_json

        paths = {part.run_id: part.path for part in reversed([*parts])}
        described = [(part.name, run) for part in parts for run in done[part.key].runs]
        plain = [
            (part.name, RunRecord(run_id=part.run_id, config=part.config, source=part.format.name))
            for part in parts
            if part.run_id in (done[part.key].shares or [part.run_id])
        ]
        rows = []
        for name, run in described + plain:
            if run.run_id not in self._written:
                self._written[run.run_id] = run.environment_id
                tags = {**json.loads(run.tags or "{}"), **self.tags}
                said, names = missing_facts(run, self.facts, paths.get(run.run_id))
                self._dated += names
                self._differs |= {key for key, value in self.facts.items() if getattr(run, key) not in (None, value)}
                rows.append(replace(run, tags=as_json(tags) if tags else None, bench_version=__version__, **said))
            elif self._written[run.run_id] is None and run.environment_id is not None:
                # a file about the machine that came after the results; the warehouse puts both rows together
                self._written[run.run_id] = run.environment_id
                rows.append(run)
            elif run.environment_id not in (None, self._written[run.run_id]):
                self.notes.append(f"{name}: {ELSEWHERE}")
        return rows


@contextlib.contextmanager
def _seldom_collecting() -> Iterator[None]:
    """Run the garbage collector less often: events are not garbage, and checking every 700 of them is slow."""
    before = gc.get_threshold()
    gc.set_threshold(OBJECTS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _batches(parts: list[NewPart]) -> Iterator[list[NewPart]]:
    """Parts in order, small ones together."""
    batch: list[NewPart] = []
    size = 0
    for part in parts:
        length = part.end_byte - part.start_byte
        if batch and size + length > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += length
    if batch:
        yield batch
