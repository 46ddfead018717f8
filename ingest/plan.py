"""What an ingest will do: which files, of which format, which of their bytes are new, and into which run they go.

A plan is made before anything is written, so a dry run is a plan that is only printed.
"""

import difflib
import functools
import hashlib
import os
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..warehouse.errors import BenchError
from .format import MAX_LINE_BYTES, Format, Head, find_format, formats
from .known import Fingerprint, Known, KnownSources, fingerprint

HEAD_BYTES = 1 << 16
SIDE_BY_SIDE_BYTES = 64 << 20  # below this a thread pool costs what it saves
PLANNED = 0  # next_line of a source that this plan will load


@dataclass(frozen=True, slots=True)
class Wanted:
    """One PATH of the command line."""

    path: Path
    config: str | None  # label given by the user


@dataclass(frozen=True, slots=True)
class NewPart:
    """Bytes of a file that are not in the store yet."""

    path: Path
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


@dataclass(slots=True)
class Item:
    """One file of the plan."""

    path: Path
    config: str
    format: str
    known_lines: int = 0
    new: NewPart | None = None
    twin: str | None = None  # source of the same content that this very ingest loads, whose lines are known then


@dataclass(slots=True)
class Plan:
    """What will be done, and what there is to say about the rest."""

    items: list[Item] = field(default_factory=list)
    stores: list[Path] = field(default_factory=list)  # bench's own stores and event files
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Said:
    """What the user said that bears on all files."""

    format: str | None = None
    config: str | None = None


@dataclass(slots=True)
class _File:
    path: Path
    print: Fingerprint
    kind: str  # name of its format
    match: Known | None  # the file, or its beginning, as it is known
    also: str | None = None  # config under which the same content is known, where the user wants another

    @property
    def format(self) -> Format:
        """Its format; looking it up imports all of them, which a file that is known does not need."""
        return find_format(self.kind)

    def is_unchanged(self) -> bool:
        """Whether all of it is in the store."""
        return self.match is not None and self.match.end_byte == self.print.size_bytes


def parse(text: str, said: Said) -> Wanted:
    """PATH or NAME:PATH, split at the first colon that is followed by an existing path.

    Raises:
        BenchError: There is no such path.
    """
    if not os.path.lexists(text):
        for index, character in enumerate(text):
            if character == ":" and index and os.path.exists(text[index + 1 :]):
                return Wanted(Path(text[index + 1 :]), text[:index])
    path = Path(text)
    if not path.exists():
        folder = path.parent if path.parent.is_dir() else Path()
        near = difflib.get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=1)
        hint = f" Nearest: {folder / near[0]}." if near else ""
        raise BenchError(f"no file or folder {text!r}.{hint} Give PATH or NAME:PATH.")
    return Wanted(path, said.config)


def make_plan(
    wanted: Iterable[Wanted], said: Said, known: KnownSources, tell: Callable[[int], None] | None = None
) -> Plan:
    """Look at every file, and decide.

    Raises:
        BenchError: A path given holds nothing that any format recognises.
    """
    plan = Plan()
    for want in wanted:
        if is_store(want.path):
            plan.stores.append(want.path)
        else:
            _plan_set(want, said, known, plan, tell)
    return plan


def is_store(path: Path) -> bool:
    """Whether a path is a store of bench's own, or one file of its log."""
    if path.is_dir():
        return (path / "events").is_dir()
    return path.suffix == ".parquet" and path.is_file()


def _plan_set(want: Wanted, said: Said, known: KnownSources, plan: Plan, tell: Callable[[int], None] | None) -> None:
    """Plan the files of one PATH: one result set, one run for each format in it."""
    forced = find_format(said.format) if said.format else None
    folder = (want.path if want.path.is_dir() else want.path.absolute().parent).resolve()
    before = len(plan.notes)
    unknown: dict[str, str] = {}
    found: dict[str, list[_File]] = {}
    paths = _files(want.path, plan)
    for path, print_of in zip(paths, _fingerprints(paths, known, tell), strict=True):
        try:
            file = _look(path, print_of, want.config, forced, known, plan, unknown)
        except OSError as error:
            unknown[path.name] = f"cannot be read ({error.strerror})"
            continue
        if file is not None:
            found.setdefault(file.kind, []).append(file)
    if unknown and not found and len(plan.notes) == before:
        looks = "\n".join(f"  {name} {look}" for name, look in list(unknown.items())[:10])
        more = f"\n  … and {len(unknown) - 10} more" if len(unknown) > 10 else ""
        names = "\n".join(f"  {each.name}: {each.doc}" for each in formats().values())
        raise BenchError(
            f"nothing in {want.path} is recognised:\n{looks}{more}\nFormats:\n{names}\n"
            "Name one with --format if the file is of it."
        )
    plan.notes += [f"{want.path.name}/{name} {look}; left out" for name, look in unknown.items()]
    for files in found.values():
        _plan_run(files, want.config, folder.name or folder.anchor, known, plan)


def _files(path: Path, plan: Plan) -> list[Path]:
    """The regular files of a path; what else lies there is noted."""
    if not path.is_dir():
        if not path.is_file():
            raise BenchError(f"{path} is neither a file nor a folder.")
        return [path]
    inside = path.resolve()
    files = []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        target = Path(entry.path)
        if entry.is_symlink() and target.resolve().parent != inside:
            plan.notes.append(f"{target} leads out of its folder; not followed")
        elif entry.is_file():
            files.append(target)
        elif not entry.is_dir():
            plan.notes.append(f"{target} is a special file ({stat.filemode(entry.stat().st_mode)[0]}); left out")
    if not files:
        inner = sorted(entry.name for entry in path.iterdir() if entry.is_dir())
        hint = f" Give its folders one by one, such as {path / inner[0]}." if inner else ""
        raise BenchError(f"the folder {path} holds no files.{hint}")
    return files


def _fingerprints(
    paths: list[Path], known: KnownSources, tell: Callable[[int], None] | None
) -> Iterator[Callable[[], Fingerprint]]:
    """What gives each file's fingerprint, or raises OSError; much is hashed two files at a time, free of the GIL."""
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


def _look(
    path: Path,
    print_of: Callable[[], Fingerprint],
    label: str | None,
    forced: Format | None,
    known: KnownSources,
    plan: Plan,
    unknown: dict[str, str],
) -> _File | None:
    """Fingerprint a file, find it among the known or recognise it; None if there is nothing to load in it."""
    if path.stat().st_size == 0:
        plan.notes.append(f"{path} is empty")
        return None
    print_ = print_of()
    candidates = [
        (row, print_.prefixes[row.end_byte])
        for row in known.by_head.get(print_.head_sha256, ())
        if row.end_byte in print_.prefixes
    ]
    same = [row for row, sha256 in candidates if sha256 == row.sha256 and _same_file(row, path, print_, forced)]
    mine = [row for row in same if label in (None, row.config)]
    if mine:
        match = max(mine, key=lambda row: (row.end_byte, row.part))
        return _File(path, print_, match.format, match)
    head = read_head(path)
    kind = forced or _recognise(head)
    if kind is None and b"\n" not in head.data and head.data[:1] == b"{":
        plan.notes.append(f"{path} has no complete line yet; it is left for when its writer is done")
        return None
    if kind is None:
        unknown[path.name] = describe(head)
        return None
    reason = None if forced else kind.left_out(head)
    if reason:
        plan.notes.append(f"{path} {reason}; left out")
        return None
    return _File(path, print_, kind.name, None, same[0].config if same else None)


def _same_file(row: Known, path: Path, print_: Fingerprint, forced: Format | None) -> bool:
    """Whether a known part whose bytes begin this file is this file, shorter or as it is."""
    if forced is not None and row.format != forced.name:
        return False
    if (
        row.name != path.name
        and (kind := formats().get(row.format))
        and kind.identity(row.name) != kind.identity(path.name)
    ):
        return False
    if row.end_byte == print_.size_bytes:
        return True
    if row.format not in formats() or not formats()[row.format].grows:
        return False
    with path.open("rb") as file:  # a part ends at a line's end: else what follows is no growth but another file
        file.seek(row.end_byte - 1)
        around = file.read(3)
    return around[:1] == b"\n" or around[1:2] == b"\n" or around[1:] == b"\r\n"


def _recognise(head: Head) -> Format | None:
    found = [each for each in formats().values() if each.recognise(head)]
    if len(found) > 1:
        names = " or ".join(each.name for each in found)
        raise BenchError(f"{head.path} may be {names}. Say which with --format.")
    return found[0] if found else None


def _plan_run(files: list[_File], label: str | None, default: str, known: KnownSources, plan: Plan) -> None:
    """Plan the files of one format: where one of them is known, the others join its run."""
    if all(file.is_unchanged() for file in files):
        plan.items += [_grown(file, file.match, plan) for file in files if file.match is not None]
        return
    kind = files[0].format
    places = {name: index for index, name in enumerate(kind.order({file.path.name for file in files}))}
    files.sort(key=lambda file: places[file.path.name])
    matched = [file.match for file in files if file.match is not None]
    config = label or (matched[0].config if matched else default)
    joined = next((row.run_id for row in matched if row.config == config), None)
    first = files[0].print
    run_id = joined or _uuid(kind.name, config, first.head_sha256 if kind.grows else first.sha256)
    fresh = [file for file in files if file.match is None]
    changed = [file for file in fresh if _differs(file, known.runs.get(run_id, {}))]
    if changed:
        run_id = _uuid(kind.name, config, changed[0].print.sha256)
        names = ", ".join(file.path.name for file in changed)
        plan.notes.append(f"{names}: not what was loaded before under that name; it becomes a run of its own")
    for file in files:
        if file.match is not None:
            plan.items.append(_grown(file, file.match, plan))
        else:
            plan.items.append(_fresh(file, config, run_id, known, plan))


def _differs(file: _File, earlier: dict[str, str]) -> bool:
    """Whether a run holds a file of this name that is another, by its first line if it grows."""
    head = earlier.get(file.path.name)
    return head is not None and not (file.format.grows and head == file.print.head_sha256)


def _grown(file: _File, row: Known, plan: Plan) -> Item:
    item = Item(file.path, row.config, row.format, known_lines=row.next_line - 1)
    if row.next_line == PLANNED:
        item.twin, item.known_lines = row.source_id, 0
        return item
    if row.end_byte == file.print.size_bytes:
        return item
    end = _last_line_end(file, row.end_byte, plan)
    start = _after_line_end(file.path, row.end_byte)
    if end <= start:
        return item
    item.new = NewPart(
        path=file.path, format=file.format, config=row.config, run_id=row.run_id, new_run=False,
        source_id=row.source_id, part=row.part + 1, start_byte=start, end_byte=end, first_line=row.next_line,
        sha256=_sha256(file, end), head_sha256=row.head_sha256,
    )  # fmt: skip
    return item


def _fresh(file: _File, config: str, run_id: str, known: KnownSources, plan: Plan) -> Item:
    item = Item(file.path, config, file.format.name)
    end = _last_line_end(file, 0, plan) if file.format.grows else file.print.size_bytes
    if end == 0:
        return item
    sha256, identity = _sha256(file, end), file.format.identity(file.path.name)
    for row in known.by_sha256.get(sha256, ()):  # met a moment ago: a copy in the same folder
        same = row.config == config and row.format == file.format.name
        if same and file.format.identity(row.name) == identity:
            item.twin = row.source_id
            return item
    if file.also is not None:
        plan.notes.append(f"{file.path} is loaded as {config!r}; its content is also there as {file.also!r}")
    content = f"{sha256}\n{config}\n{file.format.name}\n{identity}"
    source_id = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:32]
    item.new = NewPart(
        path=file.path, format=file.format, config=config, run_id=run_id, new_run=run_id not in known.runs,
        source_id=source_id, part=0, start_byte=0, end_byte=end, first_line=1,
        sha256=sha256, head_sha256=file.print.head_sha256,
    )  # fmt: skip
    head = file.print.head_sha256
    known.add(Known(source_id, 0, run_id, config, file.path.name, file.format.name, end, sha256, head, PLANNED))
    return item


def _last_line_end(file: _File, start: int, plan: Plan) -> int:
    """Where the last whole record ends; a last line without line feed counts if it is one."""
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
    plan.notes.append(f"{file.path} ends in a line that is not complete; it is left for when its writer is done")
    return size - len(line)


def _after_line_end(path: Path, at: int) -> int:
    """Past the line end at a place, if the part before did not include it."""
    with path.open("rb") as file:
        file.seek(at - 1)
        around = file.read(3)
    if around[:1] == b"\n":
        return at
    return at + (2 if around[1:] == b"\r\n" else 1)


def _sha256(file: _File, end: int) -> str:
    """SHA-256 of a file up to `end`, which is known already unless its last line was left out."""
    if end == file.print.size_bytes:
        return file.print.sha256
    digest = hashlib.sha256()
    with file.path.open("rb", buffering=0) as opened:
        left = end
        while left and (block := opened.read(min(1 << 20, left))):
            digest.update(block)
            left -= len(block)
    return digest.hexdigest()


def _uuid(*content: str) -> str:
    """A UUID made of content (RFC 9562, version 8)."""
    digest = hashlib.sha256("\n".join(content).encode("utf-8", "surrogateescape")).digest()
    number = int.from_bytes(digest[:16]) & ~(0xF << 76) & ~(0b11 << 62) | 0x8 << 76 | 0b10 << 62
    return str(uuid.UUID(int=number))


def read_head(path: Path) -> Head:
    """The beginning of a file: 64 KiB, or more where the first line is longer."""
    with path.open("rb") as file:
        data = file.read(HEAD_BYTES)
        while b"\n" not in data and len(data) < MAX_LINE_BYTES and (more := file.read(1 << 20)):
            data += more
    cut = data.rfind(b"\n") + 1
    return Head(path, data[:cut] if cut and len(data) >= HEAD_BYTES else data)


def describe(head: Head) -> str:
    """What a file looks like, for a person who wonders why it is not recognised."""
    if head.data[:2] == b"\x1f\x8b":
        return "is compressed with gzip, which is not read yet: unpack it first"
    if b"\0" in head.data[:4096]:
        return "is binary"
    line = next((line.strip() for line in head.lines() if line.strip()), "")
    line = "".join(character if character.isprintable() else "�" for character in line)
    shown = line if len(line) <= 80 else f"{line[:80]}…"
    if line.startswith(("{", "[")):
        return f"looks like JSON: {shown}"
    if "," in line:
        return f"looks like CSV: {shown}"
    return f"begins with: {shown!r}" if line else "holds only blank lines"
