"""What a file holds that no format recognises, and which formats are nearest to it."""

import json
from collections.abc import Iterable

from ..format import Format, Head, encoding
from .packing import PackingError, packing_of, unpacked

NEAREST = 3  # formats that are named
SHOWN = 12  # keys that are
JSON = "is JSON"  # how the description of JSON begins


def describe(head: Head, kinds: Iterable[Format]) -> str:
    """A description of a file's content, in words that follow its name; of JSON with the nearest of these formats."""
    if packing_of(head.data):
        try:
            next(unpacked(head.path), b"")
        except PackingError as error:
            return str(error)
    if head.packed and (names := [kind.name for kind in kinds if kind.recognise(head)]):
        return f"is packed, and {' or '.join(names)} is read unpacked only: unpack it first"
    if b"\0" in head.data[:4096] and encoding(head.data) != "utf-16":
        return "is binary"
    line = next((line.strip() for line in head.lines() if line.strip()), "")
    if line.startswith(("{", "[")) and head.key_paths:
        return f"{JSON} with the keys {_top_keys(head)}{_nearest(head, kinds)}"
    line = _printable(line)
    shown = line if len(line) <= 80 else f"{line[:80]}…"
    if line.startswith(("{", "[")):
        return f"looks like JSON: {shown}"
    if "," in line:
        return f"looks like CSV: {shown}"
    return f"begins with: {shown!r}" if line else "holds only blank lines"


def is_whole_json(data: bytes) -> bool:
    """Whether a line is a JSON value, and no part of one whose writer is not done."""
    try:
        json.loads(data, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _top_keys(head: Head) -> str:
    """The keys of the document, or of the objects in its list."""
    top = [path for path in head.key_paths if "." not in path]
    keys = [_printable(path.removeprefix("[].").removesuffix("[]"))[:60] for path in top]
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
