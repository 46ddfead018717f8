"""Events so far of running processes, read from their journals without touching them."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..errors import BenchError, NothingToShow
from ..events import Environment, Outcome
from ..log import IMPORT, MERGED, SPLIT, EventLog, LogFile, publish
from ..sealing import seal_journal
from ..store import Store
from ..upkeep.healing import note
from .parts import run_of
from .reader import read

TIME_DIGITS = 13  # of a UUIDv7: its instant, in milliseconds


@contextlib.contextmanager
def live_store(store: Store) -> Iterator[Store]:
    """A context with a store in a temporary folder that has the runs being recorded into `store`.

    It has all that is in their journals, and what of these runs is in the log already. A process whose journal cannot be read
    now is left out.

    Raises:
        NothingToShow: No process records into it.
    """
    log = EventLog(store)
    with tempfile.TemporaryDirectory(prefix="bench-live-") as folder:
        apart = Store(Path(folder)).create()
        alive = log.being_written()
        runs, taken = {run for path in alive if (run := run_of(path))}, set[str]()
        for path in log.journals():  # also full ones, which nobody writes any more
            with contextlib.suppress(BenchError, FileNotFoundError):  # it was sealed just now
                if run_of(path) in runs:
                    contents = read(path, is_live=path in alive)
                    seal_journal(contents, apart.events, path.stem, publish)
                    taken.add(path.stem)
                    if path not in alive:
                        note(f"{path.name} is damaged ({damage})" for damage in contents.damage)
        for file in _files_of(
            log.files(), runs, taken
        ):  # after the journals, so that what is sealed meanwhile is there
            (apart.events / file.table).mkdir(exist_ok=True)
            (apart.events / file.table / file.name).symlink_to(file.path.absolute())
        if not runs:
            raise NothingToShow(f"no process records into {store}")
        _write_outcomes(apart, runs)
        yield apart


def _write_outcomes(apart: Store, runs: set[str]) -> None:
    """Say that the runs are running, and their cases unknown: else they would count as interrupted."""
    import pyarrow.parquet as pq

    def pairs(table: str) -> set[tuple[str, str | None]]:
        files = (apart.events / table).glob("*.parquet")
        rows = [row for path in files for row in pq.read_table(path, columns=["run_id", "case_id"]).to_pylist()]
        return {(row["run_id"], row["case_id"]) for row in rows}

    open_cases = sorted((run, case) for run, case in pairs("cases") - pairs("outcomes") if run in runs)
    ends = [Outcome(run_id=run, status="running") for run in sorted(runs)]
    ends += [
        Outcome(run_id=run, case_id=case, status="unknown", reason="it is being recorded") for run, case in open_cases
    ]
    EventLog(apart).write(Outcome, ends, "running")


def _files_of(files: list[LogFile], runs: set[str], taken: set[str]) -> Iterator[LogFile]:
    """Files of the log that such runs left: of their earlier journals, or of processes that have ended, but for those taken."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    first = min(runs, default="")[:TIME_DIGITS]
    for file in files:
        recent = not file.stem.startswith((IMPORT, MERGED, SPLIT)) and file.stem[:TIME_DIGITS] >= first
        if not recent or not runs or file.stem in taken:
            continue
        if file.table == Environment.TABLE:
            yield file
            continue
        with contextlib.suppress(OSError, pa.ArrowInvalid):
            about = pq.read_metadata(file.path)
            column = about.schema.to_arrow_schema().get_field_index("run_id")
            statistics = about.row_group(0).column(column).statistics if column >= 0 else None
            if statistics is not None and statistics.max in runs:
                yield file
