"""A description of a file that no format recognises, and the nearest formats."""

import json
import re
import shlex
import zipfile
from collections.abc import Iterable

from ..format import Format, Head, Part, encoding
from .csv_rows import LONE_CR
from .document import BadRecord
from .packing import DAMAGES, PackingError, packing_of, unpacked
from .tables import describe_tables, open_table

NEAREST = 3  # formats that are named
SHOWN = 12  # keys that are
ZIP = b"PK\x03\x04"
PICKLE = re.compile(rb"\x80[\x02-\x05][\x95\]}(c]", re.DOTALL)
CUT = re.compile(r"\s*|[.]|[eE][+-]?")  # what is left where a value or a number is cut
LONGEST_ESCAPE = 6
TIMER = b"torch.utils.benchmark"
LOOKED_AT = 1 << 12  # bytes of a pickle, which names early what it holds
TO_JSON = (
    "import dataclasses, json, pickle, sys, torch; print(json.dumps([dataclasses.asdict(m.task_spec) | "
    "{'number_per_run': m.number_per_run, 'raw_times': m.raw_times} for m in %s]))"
)
JSON = "is JSON"
PROFILE = "is a profile"  # how the description of one begins that a profiler writes otherwise, too


def describe(head: Head, kinds: Iterable[Format]) -> str:
    """A description of a file's content, in words that follow its name; of JSON with the nearest of these formats."""
    try:
        if tables := describe_tables(head.path):
            return tables
    except BadRecord as error:
        return str(error)
    if pickled := _describe_pickle(head):
        return pickled
    if packing_of(head.data):
        try:
            if not next(unpacked(head.path), b""):
                return "is packed, and empty"
        except PackingError as error:
            return str(error)
    if head.packed and (names := [kind.name for kind in kinds if kind.recognise(head)]):
        return read_unpacked(names)
    if b"\0" in head.data[:4096] and encoding(head.data) != "utf-16":
        return "is binary"
    line = next((line.strip() for line in head.lines() if line.strip()), "")
    near = next(filter(None, (kind.near_miss(head) for kind in kinds)), None)
    if near and near.startswith(PROFILE):
        return near
    if line.startswith(("{", "[")) and head.key_paths:
        return f"{JSON} with the keys {_top_keys(head)}{_nearest(head, kinds)}"
    if "\r" in line and b"\n" not in head.data:
        return f"has {LONE_CR}"
    line = _printable(line)
    shown = line if len(line) <= 80 else f"{line[:80]}…"
    if line.startswith(("{", "[")):
        return f"looks like JSON: {shown}"
    return near or _describe_text(shown, head)


def _describe_text(line: str, head: Head) -> str:
    if "," in line:
        return _table_fault(head) or f"looks like CSV: {line}"
    return f"begins with: {line!r}" if line else "holds only blank lines"


def _table_fault(head: Head) -> str | None:
    """The reason for which it is read as no table, such as a column that the header names twice."""
    try:
        open_table(Part.alone(head.path), None)
    except BadRecord as error:
        return str(error)
    return None


def _describe_pickle(head: Head) -> str | None:
    """The reason not to read a pickle, and what writes measurements of PyTorch's Timer as JSON; None for other files."""
    load, torchs = "pickle.load(open(sys.argv[1], 'rb'))", head.data
    if head.data.startswith(ZIP):
        try:
            with zipfile.ZipFile(head.path) as archive:
                inside = next((name for name in archive.namelist() if name.endswith("/data.pkl")), None)
                if inside is None:
                    return None
                with archive.open(inside) as stream:
                    torchs = stream.read(LOOKED_AT)
        except (*DAMAGES, KeyError):
            return None
        load = "torch.load(sys.argv[1], weights_only=False)"
    elif not PICKLE.match(head.data):
        return None
    what = "is a pickle, which can run any code when it is loaded, so it is not read"
    if TIMER not in torchs[:LOOKED_AT]:
        return f"{what}. Write the results as JSON or CSV"
    path = shlex.quote(str(head.path))
    return f'{what}. If you trust who made it, write its measurements as JSON: python -c "{TO_JSON % load}" {path} > times.json'


def is_begun_json(data: bytes) -> bool:
    """True if a line begins a JSON value that its writer has not finished: neither a whole one nor a broken one."""
    text = data.decode("utf-8", "ignore")  # a character may be cut
    try:
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        rest = text[error.pos :]
        in_text = error.msg.startswith("Unterminated") or (
            error.msg.startswith("Invalid") and len(rest) < LONGEST_ESCAPE
        )
        return in_text or CUT.fullmatch(rest) is not None or _is_word(rest)
    except (ValueError, RecursionError):
        return False
    return False


def _is_word(rest: str) -> bool:
    return any(word.startswith(rest) for word in ("true", "false", "null", "NaN", "Infinity", "-Infinity"))


def _top_keys(head: Head) -> str:
    """The keys of the document, or of the objects in its list."""
    paths = [path.removeprefix("[].") for path in head.key_paths]
    keys = [_printable(path.removesuffix("[]"))[:60] for path in paths if "." not in path]
    return ", ".join(keys[:SHOWN]) + (f" and {len(keys) - SHOWN} more" if keys[SHOWN:] else "")


def _nearest(head: Head, kinds: Iterable[Format]) -> str:
    """The formats with the most of the keys, each with those that the file lacks."""
    names = {_key(path) for path in head.paths}
    found = []
    for kind in kinds:
        scores = []
        for shape in kind.shapes:
            lacks = sorted(shape - head.paths)
            elsewhere = sum(_key(path) in names for path in lacks)  # the same keys at other places
            scores.append(((len(shape) - len(lacks) + elsewhere / 2) / (len(shape) + 1), lacks))
        best, lacks = max(scores, default=(0.0, []), key=lambda each: each[0])
        if best:
            found.append((-best, kind.name, lacks))
    if not found:
        return ", which no format has"
    near = [f"{name} (lacks {', '.join(lacks[:3])})" if lacks else name for _, name, lacks in sorted(found)[:NEAREST]]
    return f". The nearest formats: {', '.join(near)}"


def _key(path: str) -> str:
    return path.removesuffix("[]").rpartition(".")[2]


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "�" for character in text)


def read_unpacked(names: Iterable[str]) -> str:
    """The reason why a packed file of such formats is not read."""
    return f"is packed, and {' or '.join(names)} is read unpacked only: unpack it first"
