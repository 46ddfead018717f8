"""The plan of an ingest: which files to load, their formats, which of their bytes are new, and into which run they go.

A plan is made before anything is written, so a dry run is a plan that is only printed. This file is long because every
decision about a file needs the same three things: its fingerprint, what is known of it, and the other files of its folder.
"""

import contextlib
import difflib
import functools
import hashlib
import itertools
import os
import shlex
from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..warehouse.console.numbers import counted
from ..warehouse.errors import BenchError
from .facts import is_dated, measured, note_on_equals
from .format import FOLDER, MAX_LINE_BYTES, Format, Head
from .progress import IngestProgress
from .readers.document import instant
from .readers.files import NO_PIPE, FileLocation, NoFilesError, find_files, is_circle, left_below, read_head
from .readers.folders import folder_config, folders_in
from .readers.leading_text import unlogged
from .readers.unrecognised import PROFILE, describe, is_begun_json, read_unpacked
from .registry import find_format, formats
from .source_index import NOT_SAID, Fingerprint, IndexedSource, KnownSources, Measured, content_uuid, fingerprint

SHOWN = 10  # files that an error names
NIGHT_US = 12 * 3600 * 10**6  # between files of a folder, from which on they are of two nights
SIDE_BY_SIDE_BYTES = 64 << 20  # below this a thread pool costs what it saves


FingerprintOf = Callable[[], Fingerprint]  # raises OSError


@dataclass(frozen=True, slots=True)
class RequestedPath:
    """One PATH of the command line."""

    path: Path
    config: str | None  # label given by the user
    above: Path | None = None  # the PATH of the command line, of a folder somewhere below it


@dataclass(frozen=True, slots=True)
class NewPart:
    """Bytes of a file that are not in the store yet."""

    path: Path
    name: str
    format: Format
    config: str
    run_id: str
    new_run: bool
    source_id: str
    part: int
    start_byte: int
    end_byte: int
    first_line: int
    sha256: str
    head_sha256: str
    lines: int | None = None  # in these bytes, counted apart from their reader; None where records are not lines
    measured: Measured = NOT_SAID

    @property
    def key(self) -> tuple[str, int]:
        """Its identity in the store."""
        return self.source_id, self.part

    @property
    def size_bytes(self) -> int:
        """The size of these lines."""
        return self.end_byte - self.start_byte


@dataclass(slots=True)
class Item:
    """One file of the plan."""

    path: Path
    config: str
    format: str
    known_lines: int = 0
    new: NewPart | None = None
    twin: NewPart | None = None  # part of the same content that this very ingest loads, whose lines are known then


@dataclass(slots=True)
class IngestPlan:
    """The files to load, and notes about the others."""

    items: list[Item] = field(default_factory=list)
    stores: list[Path] = field(default_factory=list)  # bench's own stores and event files
    notes: list[str] = field(default_factory=list)
    failed: list[NoFilesError] = field(default_factory=list)  # of paths without results, beside others
    equals: list[str] = field(default_factory=list)  # new files whose bytes are known, of another day or commit

    @property
    def loads(self) -> bool:
        """True if there is anything to load."""
        return bool(self.stores) or any(item.new for item in self.items)


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """Options of the user for all files."""

    format: str | None = None
    config: str | None = None
    own: Format | None = None  # made of the user's mapping or pattern; if given, no other format is tried
    again: bool = False  # load what was forgotten, as new runs
    anew: bool = False  # load what is known, too, as new runs: results of calls may be equal
    facts: Mapping[str, Any] = field(default_factory=dict)  # of runs whose files do not say them


@dataclass(slots=True)
class _File:
    path: Path
    name: str
    print: Fingerprint
    kind: str  # name of its format
    match: IndexedSource | None  # the file, or its beginning, as it is known
    also: str | None = None  # config under which the same content is known, where the user wants another
    forced: Format | None = None
    branches: bool = False  # it begins like a known file that goes on in another way
    began: int | None = None  # µs since 1970, as a new file says
    measured: Measured = NOT_SAID

    @property
    def format(self) -> Format:
        """Its format; looking it up imports all of them, which a file that is known does not need."""
        return self.forced or find_format(self.kind)

    def is_unchanged(self) -> bool:
        """Return whether all of it is in the store."""
        return self.match is not None and self.match.end_byte == self.print.size_bytes


def parse(text: str, options: SourceOptions) -> RequestedPath:
    """PATH or NAME:PATH, split at the first colon that is followed by an existing path.

    Raises:
        BenchError: There is no such path.
    """
    if not os.path.lexists(text):
        for index, character in enumerate(text):
            if character == ":" and index and os.path.exists(text[index + 1 :]):
                return RequestedPath(Path(text[index + 1 :]), text[:index])
    if not text:  # which Path would take for the folder here
        raise BenchError("the path is empty. Give PATH or NAME:PATH, such as . for the files here")
    path = Path(text)
    if path.exists():
        return RequestedPath(path, options.config)
    if text == "-":
        raise BenchError(f"{text} {NO_PIPE}")
    if "://" in text:  # not repeated: it may hold a credential
        raise BenchError(
            "an address is neither a file nor a folder. A store in a bucket is copied with: bench store sync SRC DST"
        )
    if path.is_symlink():
        raise BenchError(f"{path} is a link that leads {'round in a circle' if is_circle(path) else 'nowhere'}.")
    folder = path.parent if path.parent.is_dir() else Path()
    near = difflib.get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=1)
    hint = f" Nearest: {folder / near[0]}." if near else ""
    raise BenchError(f"no file or folder {text!r}.{hint} Give PATH or NAME:PATH.")


def make_plan(
    wanted: Iterable[RequestedPath], options: SourceOptions, known: KnownSources, progress: IngestProgress
) -> IngestPlan:
    """Fingerprint every file, and decide what to load.

    Raises:
        BenchError: No path given holds anything that a format recognises.
    """
    plan, results = IngestPlan(), list[RequestedPath]()
    for want in wanted:
        if options.own is None and is_store(want.path):
            plan.stores.append(want.path)
        else:
            results.append(want)
    files = [want.path for want in results if want.path.is_file()]
    with contextlib.closing(_fingerprints(files, known, progress.hashed)) as prints:
        for want in results:
            known_before, items_before = known.rows(), len(plan.items)
            try:
                _plan_tree(want, options, known, plan, progress, prints)
            except NoFilesError as error:
                plan.failed.append(error)
                continue
            plan.notes += _counted_twice(plan.items[items_before:], known_before)
            if want.config is None:
                plan.notes += _same_configs(want, plan.items[items_before:], known_before, known.planned)
    if plan.failed and not (plan.items or plan.stores):
        raise plan.failed[0]
    plan.notes += note_on_equals(plan.equals)
    return plan


def _plan_tree(
    want: RequestedPath, options: SourceOptions, known: KnownSources, plan: IngestPlan, progress: IngestProgress,
    prints: Iterator[FingerprintOf],
) -> None:  # fmt: skip
    """Plan a file or folder, or each folder in it where it has no results of its own; a file takes the next of `prints`."""
    try:
        _plan_set(want, options, known, plan, progress, prints)
    except NoFilesError as error:
        above = error
    else:
        return
    items_before, folders, failed = len(plan.items), folders_in(want.path), list[NoFilesError]()
    for folder in folders:
        try:
            inside = RequestedPath(folder, want.config, want.above or want.path)
            _plan_tree(inside, options, known, plan, progress, prints)
        except NoFilesError as error:
            failed.append(error)
    if len(failed) == len(folders):
        raise max((above, *failed), key=lambda error: (error.proposes, bool(error.looks)))
    plan.notes += _left_out(want, above.looks, options)
    plan.notes += [f"{str(error).splitlines()[0].rstrip('.:')}; left out" for error in failed]
    if want.above is None:
        plan.notes.append(_of_folders(want, plan.items[items_before:]))


def _of_folders(want: RequestedPath, items: Iterable[Item]) -> str:
    """A note that says which configs the folders of a PATH became."""
    folders: dict[str, set[Path]] = {}
    for item in items:
        folders.setdefault(item.config, set()).add(item.path.parent)
    configs = ", ".join(
        f"{config} ({counted(len(paths), 'folder')})" for config, paths in list(folders.items())[:SHOWN]
    )
    more = f" and {len(folders) - SHOWN} more" if len(folders) > SHOWN else ""
    other = (
        ""
        if want.config or len(folders) == 1
        else f". To make them runs of one config: bench ingest NAME:{shlex.quote(str(want.path))}"
    )
    return f"{want.path} holds folders of results: {configs}{more}{other}"


def is_store(path: Path) -> bool:
    """Return whether a path is a store of bench's own, or one file of its log."""
    if path.is_dir():
        return (path / "events").is_dir()
    return path.suffix == ".parquet" and path.is_file() and not find_format("bench-table").recognise(read_head(path))


def _plan_set(
    want: RequestedPath, options: SourceOptions, known: KnownSources, plan: IngestPlan, progress: IngestProgress,
    prints: Iterator[FingerprintOf],
) -> None:  # fmt: skip
    """Plan the files of one PATH: one result set, one run for each format in it."""
    forced = options.own or (find_format(options.format) if options.format else None)
    folder = (want.path if want.path.is_dir() else want.path.absolute().parent).resolve()
    before = len(plan.notes)
    unknown: dict[str, str] = {}
    found: dict[tuple[str, str, str], list[_File]] = {}
    places = find_files(want.path, lambda: [forced] if forced else formats().values(), plan.notes)
    if want.path.is_dir():
        prints = _fingerprints([place.path for place in places], known, progress.hashed)
    for place, fingerprint_of in zip(places, prints, strict=False):
        progress.looked()
        try:
            file = _look(place, fingerprint_of, want.config, forced, known, plan, unknown, options)
        except OSError as error:
            unknown[place.name] = f"cannot be read ({error.strerror})"
            continue
        if file is not None:
            found.setdefault(
                (file.kind, _group(file.kind, file.name, forced), _set(file.kind, file.name, forced)), []
            ).append(file)
    if not found and ((unknown and len(plan.notes) == before) or folders_in(want.path)):
        raise _nothing_found(want, unknown, options)
    plan.notes += _left_out(want, unknown, options)
    if want.path.is_dir() and (left := left_below(want.path, places, formats().values)):
        plan.notes.append(left)
    default = folder_config(want.path, want.above) if want.above else folder.name or folder.anchor
    for (_, group, day), files in found.items():
        label = _join(want.config, group) if want.config else None
        for night in [files] if day else _nights(files):
            _plan_run(night, label, _join(default, group), known, plan)


def _nothing_found(want: RequestedPath, unknown: dict[str, str], options: SourceOptions) -> NoFilesError:
    """The error of a path in which no file is recognised: what lies there, and how it could be read."""
    alike: dict[str, list[str]] = {}
    for name, look in unknown.items():
        alike.setdefault(look, []).append(name)
    told = [f"  {_files(names)} {look}" for look, names in alike.items()]
    looks = "\n".join(told[:SHOWN])
    more = f"\n  … and {len(told) - SHOWN} more" if len(told) > SHOWN else ""
    if not unknown:
        return NoFilesError(f"nothing in {want.path} can be loaded.", unknown)
    if options.own is not None:
        return NoFilesError(f"nothing in {want.path} can be read as you say:\n{looks}{more}", unknown)
    if proposal := _proposal(want, unknown, is_of_all=len(alike) == 1):
        return NoFilesError(f"nothing in {want.path} is recognised:\n{looks}{more}\n{proposal}", unknown, proposes=True)
    return NoFilesError(
        f"nothing in {want.path} is recognised:\n{looks}{more}\nIf you know its format, name it with --format; the "
        "error about an unknown name lists them all.\nAny table is read by naming its columns with --map, any log by "
        "describing its lines with --pattern: see bench ingest --help",
        unknown,
    )


def _files(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} (and {counted(len(names) - 1, 'other')})"


def _left_out(want: RequestedPath, unknown: Mapping[str, str], options: SourceOptions) -> Iterator[str]:
    """Notes about files that are not recognised, each with the command whose answer says how to read it."""
    asked = want.path.is_dir() and options.own is None
    for name, look in unknown.items():
        how = f". How to read it: bench ingest {shlex.quote(str(want.path / name))}" if asked else ""
        yield f"{Path(want.path.name, name)} {look}; left out{how}"


def _proposal(want: RequestedPath, unknown: Mapping[str, str], *, is_of_all: bool) -> str | None:
    """A command that reads the first table among some files, or all if they look the same: to paste, or to correct."""
    from .user_formats.proposal import propose

    for name in itertools.islice((name for name, look in unknown.items() if not look.startswith(PROFILE)), SHOWN):
        path = want.path / name if want.path.is_dir() else want.path
        if (words := propose(path)) is not None:
            asked = want.above or (want.path if is_of_all else path)
            place = shlex.quote(f"{want.config}:{asked}" if want.config else str(asked))
            return (
                "It is a table. What its columns may mean, to paste or correct (fields: bench ingest --help):\n"
                f"  bench ingest {place} --map {shlex.quote(words)}"
            )
    return None


def _same_configs(
    want: RequestedPath, items: Iterable[Item], known: Iterable[IndexedSource], newly: Container[tuple[str, int]]
) -> Iterator[str]:
    """Notes about configs that nobody named and that have runs already, of this very ingest or before."""
    earlier: dict[str, set[str]] = {}
    planned = set()
    for row in known:
        if not row.forgotten:
            earlier.setdefault(row.config, set()).add(row.run_id)
            planned |= {row.config} if (row.source_id, row.part) in newly else set()
    new = {
        item.config
        for item in items
        if item.new and item.new.new_run and item.new.run_id not in earlier.get(item.config, ())
    }
    for config in sorted(new & earlier.keys()):
        why = "another PATH here" if config in planned else counted(len(earlier[config]), "earlier run")
        yield f"{want.path}: config {config!r} is that of {why}, too. Give it another one with: bench ingest NAME:{want.path}"


def _counted_twice(items: Iterable[Item], known: Iterable[IndexedSource]) -> Iterator[str]:
    """Notes about files that became new runs though they begin with all of an earlier run: lines were added to such a file."""
    files = [item.new for item in items if item.new and item.new.new_run]
    files = [new for new in files if not (new.format.grows or new.format.histories)]
    earlier: dict[tuple[str, str, str], list[IndexedSource]] = {}
    for row in known if files else ():
        if not row.forgotten and row.archive is None:
            earlier.setdefault((row.config, row.format, row.name), []).append(row)
    for new in files:
        shorter = [
            row for row in earlier.get((new.config, new.format.name, new.name), ()) if 0 < row.end_byte < new.end_byte
        ]
        before = max(shorter, key=lambda row: row.end_byte, default=None)  # each other would cost a reading
        if before and _is_line_end(new.path, before.end_byte) and _hash(new.path, before.end_byte) == before.sha256:
            yield (
                f"{new.path} begins with all of run {before.run_id}, so what that holds counts twice. Leave it out with: "
                f"bench forget {before.run_id}"
            )


def _group(kind: str, name: str, forced: Format | None = None) -> str:
    """The part of the config that a file's subfolder adds; only files below the given folder have a subfolder."""
    return found.group(name) if "/" in name and (found := forced or formats().get(kind)) else ""


def _set(kind: str, name: str, forced: Format | None = None) -> str:
    """The result set of the folder given that a file belongs to; "" where the folder itself is one."""
    return found.result_set(name) if (found := forced or formats().get(kind)) else ""


def _join(config: str, group: str) -> str:
    return f"{config}/{group}" if group else config


def _fingerprints(paths: list[Path], known: KnownSources, tell: Callable[[int], None]) -> Generator[FingerprintOf]:
    """Functions that return each file's fingerprint or raise OSError; large amounts are hashed by two threads."""
    if len(paths) < 2 or sum(path.stat().st_size for path in paths if path.exists()) < SIDE_BY_SIDE_BYTES:
        for path in paths:
            yield functools.partial(fingerprint, path, known, tell)
        return
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(2, thread_name_prefix="hash")
    try:
        for future in [pool.submit(fingerprint, path, known, tell) for path in paths]:
            yield future.result
    finally:
        pool.shutdown(cancel_futures=True)


def _renewed(seen: Fingerprint, path: Path, known: KnownSources) -> Fingerprint:
    """The fingerprint, made anew if it lacks a beginning that was planned after the file had been hashed."""
    alike = known.by_head.get(seen.head_sha256, ())
    lacks = any(row.end_byte < seen.size_bytes and row.end_byte not in seen.prefixes for row in alike)
    return fingerprint(path, known) if lacks else seen


def _look(
    place: FileLocation,
    fingerprint_of: FingerprintOf,
    label: str | None,
    forced: Format | None,
    known: KnownSources,
    plan: IngestPlan,
    unknown: dict[str, str],
    options: SourceOptions,
) -> _File | None:
    """Find a file among the known ones by its fingerprint, or recognise it; None if it has nothing to load."""
    path = place.path
    if path.stat().st_size == 0:
        plan.notes.append(f"{path} is empty")
        return None
    seen = _renewed(fingerprint_of(), path, known)
    candidates = list(known.by_sha256.get(seen.sha256, ()))
    candidates += [
        row
        for row in known.by_head.get(seen.head_sha256, ())
        if row.end_byte < seen.size_bytes and seen.prefixes.get(row.end_byte) == row.sha256
    ]
    candidates = [row for row in candidates if not ((options.again or options.anew) and row.forgotten)]
    said = measured(path, options.facts) if any(any(row.measured) for row in candidates) else NOT_SAID
    elsewhen = [row for row in candidates if row.end_byte == seen.size_bytes and _is_of_other(row, said)]
    same = [row for row in candidates if row not in elsewhen and _same_file(row, place, seen, forced)]
    mine = [row for row in same if label is None or row.config == _join(label, _group(row.format, place.name))]
    if mine:
        match = max(mine, key=lambda row: (row.end_byte, row.part))
        known.places[match.source_id, match.part] = path
        branches = match.end_byte < seen.size_bytes and _is_continued(match, known)
        return _File(
            path, place.name, seen, match.format, None if branches else match, None, forced, branches, measured=said
        )
    if forced and (reason := forced.unfit(path)):
        unknown[place.name] = reason
        return None
    head = read_head(path)
    if forced and head.packed and not forced.unpacks:
        unknown[place.name] = read_unpacked([forced.name])
        return None
    kind = forced or place.below or _recognise(head, plan.notes)
    begun = b"\n" not in head.data and head.data[:1] == b"{" and len(head.data) < MAX_LINE_BYTES
    if kind is None and begun and is_begun_json(head.data):
        plan.notes.append(f"{path} has no complete line yet; it is left for when its writer is done")
        return None
    if kind is None:
        unknown[place.name] = describe(head, formats().values())
        return None
    reason = None if forced or place.below else kind.left_out(head)
    if reason:
        plan.notes.append(f"{path} {reason}; left out")
        return None
    if forced and (others := sorted({row.format for row in candidates} - {forced.name})):
        plan.notes.append(f"{path} is in the store already, read as {', '.join(others)}; it is loaded a second time")
    also = same[0].config if same else None
    return _File(
        path, place.name, seen, kind.name, None, also, forced, began=_began(kind, head),
        measured=measured(path, options.facts),
    )  # fmt: skip


def _is_of_other(row: IndexedSource, said: Measured) -> bool:
    """Return whether a known file, which has not grown, was said to be of another day or commit."""
    pairs = [pair for pair in zip(row.measured, said, strict=True) if all(pair)]
    has_grown = row.part and row.head_sha256
    return not has_grown and not all(a.startswith(b) or b.startswith(a) for a, b in pairs)


def _same_file(row: IndexedSource, place: FileLocation, seen: Fingerprint, forced: Format | None) -> bool:
    """Return whether a known part whose bytes begin this file is this file, shorter or as it is."""
    if forced is not None and row.format != forced.name:
        return False
    if (
        row.name != place.name
        and (kind := formats().get(row.format))
        and kind.identity(row.name) != kind.identity(place.name)
    ):
        return False
    if row.end_byte == seen.size_bytes:
        return True
    kind = forced or formats().get(row.format)
    if kind is None or not kind.grows:
        return False
    return _is_line_end(place.path, row.end_byte)  # of a part: else it is no growth but another file


def _is_continued(row: IndexedSource, known: KnownSources) -> bool:
    """Return whether the bytes that follow a part are known, too."""
    following = row.source_id, row.part + 1
    return any((other.source_id, other.part) == following for other in known.by_head.get(row.head_sha256, ()))


def _recognise(head: Head, notes: list[str]) -> Format | None:
    found = [each for each in formats().values() if _takes(each, head, notes)]
    found = [each for each in found if each.of_project] or found
    if len(found) > 1:
        names = " or ".join(each.name for each in found)
        raise BenchError(f"{head.path} may be {names}. Say which with --format.")
    return found[0] if found else None


def _takes(kind: Format, head: Head, notes: list[str]) -> bool:
    """Return whether a file is of a format; one that fails at looking takes none, and leaves the file to the others."""
    try:
        return kind.takes(head)
    except OSError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        notes.append(f"{head.path}: the format {kind.name} failed to look at it, a bug in that format ({reason})")
        return False


def _plan_run(files: list[_File], label: str | None, default: str, known: KnownSources, plan: IngestPlan) -> None:
    """Plan the files of one format: where one of them is known, the others join its run."""
    if all(file.is_unchanged() for file in files):
        there = {file.match.config for file in files if file.match and (file.match.source_id, 0) in known.planned}
        if label is None and there and default not in there:
            folder = shlex.quote(f"{default}:{files[0].path.parent}")
            plan.notes.append(
                f"{files[0].path} is byte for byte a file of {', '.join(sorted(there))}, and of that config alone. "
                f"To make it one of {default!r}, too: bench ingest {folder}"
            )
        plan.items += [_grown(file, file.match, known, plan) for file in files if file.match is not None]
        return
    kind = files[0].format
    if kind.runs != FOLDER and len(files) > 1:
        for file in sorted(files, key=lambda file: file.name):
            _plan_run([file], label, default, known, plan)
        return
    places = {name: index for index, name in enumerate(kind.order({file.name for file in files}))}
    files.sort(key=lambda file: places[file.name])
    config = label or _config_of_most(files, default, known)
    joined = _run_of_most(files, config, known)
    run_id = joined or _not_forgotten(content_uuid(kind.name, config, *_content(files[0], known)), known)
    fresh = [file for file in files if file.match is None]
    changed = [
        file
        for file in fresh
        if (file.branches or file.name in known.runs.get(run_id, {})) and not _end_of_older_copy(file, label, known)
    ]
    if changed and not kind.grows and label is None and config != default:  # it shares a file with another folder
        config = default
        run_id = _not_forgotten(content_uuid(kind.name, config, changed[0].print.sha256), known)
    elif changed:
        run_id = _not_forgotten(content_uuid(kind.name, config, changed[0].print.sha256), known)
        names = ", ".join(file.name for file in changed[:5]) + (f" and {len(changed) - 5} more" if changed[5:] else "")
        plan.notes.append(
            f"{names}: its content is not that of the file loaded before, or an older state of it; it becomes a new run"
        )
    whole = bool(changed) and not kind.grows  # another result set: what is the same in both belongs to both
    for file in files:
        if file.match is not None and not whole:
            plan.items.append(_grown(file, file.match, known, plan))
        else:
            plan.items.append(_fresh(file, config, run_id, label, known, plan, whole=whole))


def _nights(files: list[_File]) -> list[list[_File]]:
    """Files that say when they were measured, apart where 12 hours passed between two; those that do not say, with the first."""
    if len(files) < 2 or all(file.is_unchanged() for file in files):
        return [files]
    if files[0].format.began is None and not files[0].format.printed:
        return [files]
    dated, others = list[tuple[int, _File]](), list[_File]()
    for file in files:
        moment = file.began if file.began is not None else _began(file.format, read_head(file.path))
        if moment is None:
            others.append(file)
        else:
            dated.append((moment, file))
    dated.sort(key=lambda one: (one[0], one[1].name))
    nights: list[list[_File]] = [[]]
    for (before, _), (moment, file) in itertools.pairwise([*dated[:1], *dated]):
        if moment - before > NIGHT_US:
            nights.append([])
        nights[-1].append(file)
    nights[0] += others
    return nights


def _began(kind: Format, head: Head) -> int | None:
    """The time at which a file says that it was measured."""
    match = kind.began.search(head.text) if kind.began is not None else None
    said = match[1] if match else unlogged(head.text)[1] if kind.printed else None
    return instant(said) if said else None


def _not_forgotten(run_id: str, known: KnownSources) -> str:
    """The id of a run that content names; another one if a run of that id was forgotten, for that one stays so."""
    while run_id in known.forgotten:
        run_id = content_uuid(run_id)
    return run_id


def _config_of_most(files: Iterable[_File], default: str, known: KnownSources) -> str:
    """The config under which most of the known files are; among equals the one that the folder's name says."""
    held: Counter[str] = Counter()
    for file in files:
        if file.match is not None:
            rows = [file.match, *known.by_sha256.get(file.print.sha256, ())]
            held.update({row.config for row in rows if row.format == file.match.format})
    return max(held, key=lambda config: (held[config], config == default), default=default)


def _run_of_most(files: list[_File], config: str, known: KnownSources) -> str | None:
    """The run of this config and result set that holds most of these files; of several the one whose id comes first."""
    held: Counter[str] = Counter()
    for file in files:
        rows = [*([file.match] if file.match is not None else []), *known.by_sha256.get(file.print.sha256, ())]
        mine = (config, file.kind, _set(file.kind, file.name, file.forced))
        rows = [row for row in rows if not row.forgotten and not _is_of_other(row, file.measured)]
        held.update({row.run_id for row in rows if (row.config, row.format, _set(row.format, row.name)) == mine})
    return min(held, key=lambda run_id: (-held[run_id], run_id), default=None)


def _is_repeat(file: _File, known: KnownSources) -> bool:
    """Return whether the same content is known, or was planned a moment ago, of another day or commit."""
    return any(_is_of_other(row, file.measured) for row in known.by_sha256.get(file.print.sha256, ()))


def _content(file: _File, known: KnownSources) -> list[str]:
    """The content that identifies the run which a file begins."""
    repeated = file.measured if _is_repeat(file, known) else ()
    if file.format.runs != FOLDER:
        return [file.print.sha256, file.format.identity(file.name), *repeated]
    place = _set(file.kind, file.name, file.forced)
    beginning = file.print.head_sha256 if file.format.grows else file.print.sha256
    return [beginning, *([place] if place else []), *repeated]


def _grown(file: _File, row: IndexedSource, known: KnownSources, plan: IngestPlan) -> Item:
    """The new part of a file whose beginning is known, or is loaded by this plan."""
    item = Item(file.path, row.config, row.format, known_lines=row.next_line - 1)
    planned = known.planned.get((row.source_id, row.part))
    if planned is not None and row.end_byte == file.print.size_bytes:
        item.twin, item.known_lines = planned, 0
        return item
    if row.archive is not None:
        more = ", nor what was added to it" if row.end_byte < file.print.size_bytes else ""
        plan.notes.append(
            f"{file.path} was archived to {row.archive} and is not loaded again{more}. Bring it back with bench store sync"
        )
        return item
    if row.forgotten:
        plan.notes.append(
            f"{file.path} is of run {row.run_id}, which was forgotten, and is not loaded. Bring that back with `bench remember "
            f"{row.run_id}`, or load the file as a new run with: bench ingest --again"
        )
        return item
    if row.end_byte == file.print.size_bytes:
        return item
    if planned is not None and planned.lines is None:  # so the number of its last line is not known yet
        plan.notes.append(f"{file.path} is {planned.path} and more; the next ingest loads what was added")
        item.twin, item.known_lines = planned, 0
        return item
    end = _last_line_end(file, row.end_byte, plan)
    start = _after_line_end(file.path, row.end_byte)
    if end <= start:
        return item
    before = file.print.line_feeds.get(row.end_byte)
    item.new = NewPart(
        path=file.path, name=file.name, format=file.format, config=row.config, run_id=row.run_id, new_run=False,
        source_id=row.source_id, part=row.part + 1, start_byte=start, end_byte=end, first_line=row.next_line,
        sha256=_sha256(file, end), head_sha256=row.head_sha256,
        lines=None if before is None else _lines(file, end) - before - (start > row.end_byte),
    )  # fmt: skip
    _add_planned(item.new, known)
    return item


def _fresh(
    file: _File, config: str, run_id: str, label: str | None, known: KnownSources, plan: IngestPlan, *, whole: bool
) -> Item:
    if end := 0 if whole else _end_of_older_copy(file, label, known):
        return Item(file.path, config, file.format.name, known_lines=_lines(file, end))
    if not whole and (row := _planned_beginning(file, config, known)):
        return _grown(file, row, known, plan)
    item = Item(file.path, config, file.format.name)
    end = _last_line_end(file, 0, plan) if file.format.grows else file.print.size_bytes
    if end == 0:
        return item
    sha256, identity = _sha256(file, end), file.format.identity(file.name)
    rows = known.by_sha256.get(sha256, ())
    whole = whole or any(row.forgotten for row in rows)
    for row in rows:  # met a moment ago: a copy in the same folder
        same = row.config == config and row.format == file.format.name and (not whole or row.run_id == run_id)
        if _is_of_other(row, file.measured):
            continue
        if same and not row.forgotten and file.format.identity(row.name) == identity:
            item.twin = known.planned.get((row.source_id, row.part))
            item.known_lines = 0 if item.twin else row.next_line - 1
            return item
    if file.also is not None:
        plan.notes.append(f"{file.path} is loaded as {config!r}; its content is also there as {file.also!r}")
    content = f"{sha256}\n{config}\n{file.format.name}\n{identity}"
    if is_equal := _is_repeat(file, known):
        plan.equals.append(os.fspath(file.path))
    content += f"\n{run_id}" if whole or is_equal else ""
    head = file.print.head_sha256 if file.format.grows else ""
    source_id = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    item.new = NewPart(
        path=file.path, name=file.name, format=file.format, config=config, run_id=run_id,
        new_run=run_id not in known.runs, source_id=source_id, part=0, start_byte=0, end_byte=end, first_line=1,
        sha256=sha256, head_sha256=head, measured=file.measured,
        lines=_lines(file, end) if file.format.grows and file.print.line_feeds else None,
    )  # fmt: skip
    _add_planned(item.new, known)
    return item


def _planned_beginning(file: _File, config: str, known: KnownSources) -> IndexedSource | None:
    """The longest part planned a moment ago, of another file of the same folder, that this file begins with."""

    def may_begin(row: IndexedSource) -> bool:
        return (
            (row.source_id, row.part) in known.planned
            and (row.config, row.format) == (config, file.kind)
            and row.end_byte < file.print.size_bytes
            and not _is_continued(row, known)
            and _same_file(row, FileLocation(file.path, file.name), file.print, file.forced)
        )

    rows = [row for row in known.by_head.get(file.print.head_sha256, ()) if may_begin(row)] if file.format.grows else []
    if rows:
        file.print = _renewed(file.print, file.path, known)
    rows = [row for row in rows if file.print.prefixes.get(row.end_byte) == row.sha256]
    return max(rows, key=lambda row: row.end_byte, default=None)


def _end_of_older_copy(file: _File, label: str | None, known: KnownSources) -> int:
    """The end of a file with which a longer one of this ingest begins: it is an older copy. 0 for all others."""
    kind = file.format
    if not (kind.grows and file.print.line_feeds):
        return 0
    for row in known.by_head.get(file.print.head_sha256, ()):
        longer = known.places.get((row.source_id, row.part))
        if longer is None or row.end_byte <= file.print.size_bytes or row.format != kind.name:
            continue
        end = _last_line_end(file, 0)
        if (label is not None and row.config != label) or kind.identity(row.name) != kind.identity(file.name):
            continue
        if end and _is_line_end(longer, end) and _hash(longer, end) == _sha256(file, end):
            return end
    return 0


def _add_planned(new: NewPart, known: KnownSources) -> None:
    """Have the files that follow meet a part as if it were loaded: they are planned like those of a later ingest."""
    known.planned[new.key] = new
    known.places[new.key] = new.path
    measured = NOT_SAID if any(new.measured) and is_dated(new.path) else new.measured
    known.add(IndexedSource(
        new.source_id, new.part, new.run_id, new.config, new.name, new.format.name, new.end_byte, new.sha256,
        new.head_sha256, new.first_line + (new.lines or 0), measured=measured,
    ))  # fmt: skip


def _lines(file: _File, end: int) -> int:
    """The lines up to a place, which is the end of one."""
    size = file.print.size_bytes
    return file.print.line_feeds[size] + (end == size and _around(file.path, size)[:1] != b"\n")


def _last_line_end(file: _File, start: int, plan: IngestPlan | None = None) -> int:
    """The end of the last whole record; a last line without line feed counts if it is one. The plan notes what is left."""
    size = file.print.size_bytes
    tail = b""
    with file.path.open("rb") as opened:
        at = size
        while at > start and b"\n" not in tail and len(tail) <= MAX_LINE_BYTES:
            step = min(1 << 16, at - start)
            at -= step
            opened.seek(at)
            tail = opened.read(step) + tail
    line = tail.rpartition(b"\n")[2]
    if not line or file.format.whole(line):
        return size
    if plan is not None:
        plan.notes.append(f"{file.path} ends in an incomplete line, which is loaded when its writer is done")
    return size - len(line)


def _around(path: Path, at: int) -> bytes:
    """The byte before a place in a file, and two behind it."""
    with path.open("rb") as file:
        file.seek(at - 1)
        return file.read(3)


def _is_line_end(path: Path, at: int) -> bool:
    """Return whether a line ends at a place in a file, or has just ended."""
    around = _around(path, at)
    return around[:1] == b"\n" or around[1:2] == b"\n" or around[1:] == b"\r\n"


def _after_line_end(path: Path, at: int) -> int:
    """Past the line end at a place, if the part before did not include it."""
    around = _around(path, at)
    if around[:1] == b"\n":
        return at
    return at + (2 if around[1:] == b"\r\n" else 1)


def _sha256(file: _File, end: int) -> str:
    """SHA-256 of a file up to `end`, which is known already unless its last line was left out."""
    return file.print.sha256 if end == file.print.size_bytes else _hash(file.path, end)


def _hash(path: Path, end: int) -> str:
    """SHA-256 of a file up to `end`."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as opened:
        left = end
        while left and (block := opened.read(min(1 << 20, left))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()
