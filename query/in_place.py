"""Sides that no store holds: result files, folders, other stores and buckets, read in place.

A store in a temporary folder holds links to the event files that a question needs, and what is read of result files. The user's
store and the others stay as they are; only a bucket leaves its mirror, which is a cache.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..warehouse.console.numbers import counted
from ..warehouse.errors import BenchError
from ..warehouse.log import EventLog
from ..warehouse.store import STORE_FOLDER, Notify, Store
from .run_paths import GatheredStore, ReadInPlace, is_address, label_and_path, runs_of_path

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_OTHERS = """
SELECT count(*) FILTER (NOT list_contains($runs::VARCHAR[], run_id))
FROM run_summaries
WHERE config = $config OR $config IS NULL
HAVING count(DISTINCT config) = 1
"""  # more runs of the config that is named; of a store without a name, if it has one config

IngestInPlace = Callable[[Store, Sequence[str]], None]  # each `PATH` or `NAME:PATH` into a store
RunsOf = Callable[["Warehouse", str], tuple[str, ...]]  # the runs that a name means in a store


@contextlib.contextmanager
def gathered(
    store: Store,
    parts: Sequence[str],
    names: Sequence[str],
    runs_of: RunsOf,
    ingest_in_place: IngestInPlace,
    notify: Notify,
) -> Iterator[Store]:
    """A context with a store that also has what stands at some paths and addresses; `store` itself if there are none.

    Args:
        store: The user's store; it stays as it is.
        parts: Paths and addresses, `PATH` or `NAME:PATH`. Of a store NAME is a run there; of files, the config.
        names: The other parts of the sides, which are names of runs in `store`, whatever is read beside them.
        runs_of: The runs that a name means in another store.
        ingest_in_place: Reads paths of result files into a store.
        notify: Called with a sentence on what cannot be read.

    Raises:
        BenchError: A path cannot be read, or a name means no run of the other store.
    """
    if not parts:
        yield store
        return
    called = _short_names(parts, names)
    places = {name: _runs_in(store, name, name, runs_of) for name in names}
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        others: dict[str, Store] = {}
        files = []
        for part in parts:
            label, path = label_and_path(part)
            if (root := store_at(path)) is None:
                files.append(part)
                places[part] = ReadInPlace(called[part])
                continue
            if path not in others:
                others[path] = _apart(root, folder / str(len(others)), notify)
            places[part] = _runs_in(others[path], label, called[part], runs_of)
        known = _known(store, files)
        found = GatheredStore(folder / "gathered", of=str(store), places=places)
        _link(found, [*([store] if names or known else []), *others.values()])
        _read(
            found,
            {part: part if part in known else f"{called[part]}:{label_and_path(part)[1]}" for part in files},
            ingest_in_place,
        )
        yield found


def _read(store: Store, files: Mapping[str, str], ingest_in_place: IngestInPlace) -> None:
    """Read the files of all parts at once, which publishes once; an error names the path that it is about."""
    if not files:
        return
    try:
        ingest_in_place(store, list(files.values()))
    except BenchError as error:
        said = str(error)
        for part, text in files.items():  # a command that is proposed names what was given, not what it is called here
            said = said.replace(text, part)
        named = [part for part in files if label_and_path(part)[1] in said]
        what = max(named, key=len) if named else f"one of {counted(len(files), 'path')}"
        refused = BenchError(f"{what} could not be read: {said}")
        refused.exit_code = error.exit_code
        raise refused from error


def store_at(path: str) -> Store | None:
    """The store that a path or address means: its folder, the folder that holds it as `.bench`, or a bucket; None for files."""
    if is_address(path):
        return Store.find(path)
    return next(
        (Store(root.absolute()) for root in (Path(path), Path(path, STORE_FOLDER)) if Store(root).exists()), None
    )


def _apart(store: Store, root: Path, notify: Notify) -> Store:
    """Another store, linked at `root`, so that reading it writes nothing there; journals without a writer are copied."""
    if store.remote:
        from ..warehouse.database import Warehouse

        Warehouse.open(store).close()  # fetches what its mirror lacks
    apart = GatheredStore(root, of=str(store))
    _link(apart, [store])
    log, copied = EventLog(store), 0
    for journal in log.abandoned():
        with contextlib.suppress(OSError):  # sealed just now
            shutil.copyfile(journal, apart.journals / journal.name)
            copied += 1
    if alive := len(log.journals()) - copied:
        notify(f"note: {store}: {counted(alive, 'journal', 'is', 'are')} still written to, and left out")
    return apart


def _runs_in(store: Store, label: str | None, called: str, runs_of: RunsOf) -> ReadInPlace:
    from ..warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        runs = runs_of(warehouse, label or "latest")
        others = warehouse.rows(_OTHERS, {"runs": [*runs], "config": label})
    return ReadInPlace(called, runs, sum(count for (count,) in others))


def _known(store: Store, files: Sequence[str]) -> set[str]:
    """Those of some paths whose content the store holds already."""
    from ..warehouse.database import Warehouse

    known = set()
    if files and store.may_hold():
        with Warehouse.open(store) as warehouse:
            for part in files:
                with contextlib.suppress(BenchError):
                    runs_of_path(warehouse, part)
                    known.add(part)
    return known


def _link(target: Store, stores: Sequence[Store]) -> None:
    """Make `target` a store of links to the event files of others, and to the largest warehouse that is there."""
    target.create()
    for store in stores:
        for file in EventLog(store).files():
            link = target.events / file.table / file.name
            link.parent.mkdir(exist_ok=True)
            with contextlib.suppress(FileExistsError):  # both stores have it
                link.symlink_to(file.path.resolve())
    if databases := [store.database for store in stores if store.database.is_file()]:
        target.database.symlink_to(max(databases, key=lambda database: database.stat().st_size).resolve())


def _short_names(parts: Sequence[str], names: Iterable[str]) -> dict[str, str]:
    """The names of the parts: NAME, or as many last components of their paths as are needed to be unique."""
    split = {part: label_and_path(part) for part in parts}
    paths = {path: _components(path) for _, path in split.values()}
    short: dict[str, str] = {}
    for length in range(1, 1 + max(map(len, paths.values()))):
        short = {path: "/".join(components[-length:]) for path, components in paths.items()}
        if len({*short.values(), *names}) == len(short) + len({*names}):
            break
    called = {}
    for part, (label, path) in split.items():
        alone = label is not None and (store_at(path) is None or len(paths) == 1)
        called[part] = str(label) if alone else f"{label} of {short[path]}" if label else short[path]
    return called


def _components(path: str) -> tuple[str, ...]:
    """The components of a path or address that say which it is: not that a store is a store."""
    components = tuple(filter(None, (path if is_address(path) else os.path.abspath(path)).split("/")))
    return components[:-1] if components[-1:] == (STORE_FOLDER,) and components[1:] else components or ("/",)
