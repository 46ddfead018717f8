"""A store in a bucket: a folder of this machine mirrors it, and only two steps are new, to push and to pull.

The mirror is a store like any other: journals and sealed files in it are the truth until they are uploaded. `push`, when
a run, an import or a load is over, uploads what the bucket lacks; `pull`, before a load, fetches what the mirror lacks.
While the bucket cannot be reached nothing fails: what is recorded waits in the mirror, and questions are answered from it.

A listing that goes on where the last one ended needs names in the order in which files arrived, by one clock. Event files
have no such names: many clocks gave them, before the upload. So whoever uploaded some leaves a marker,
`uploads/<the server's time>-<random>`, which holds their names. That time is read before the marker is there, and at most
half an hour before; so a pull lists the last hour of markers again. What a killed process uploaded and did not mark is
marked when it pushes again, and found by the full listing that every mirror makes once a day.
"""

import contextlib
import json
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..console.numbers import counted
from ..errors import SHOWN, BenchError
from ..events import TABLES
from ..files import publish_text, read_json, read_text
from ..log import EventLog, unmerged
from ..log_files import counting_files
from ..store import STATE, Store
from .copying import CopyResult, artefacts, copy_events, copy_rest, transfer
from .inventory import (
    Holding,
    at_once,
    base_name,
    commit,
    counting,
    holding,
    holding_of,
    is_event_file,
    is_merged,
    newest_record,
    stands_for,
)
from .places import Bucket, Entry, Folder

UPLOADED = "uploaded.txt"  # names of all that is known to be in the bucket, one a line
MISSED = (
    "missed"  # in remote.json: files whose download was damaged, and which the next pull tries again -> their bytes
)
TIMES = ("since", "pulled_at", "listed_at")  # of remote.json: by the clock of the server, and twice by ours
DAY = 86400.0
LATE = 1800.0  # seconds by which the time in a marker's name may be before the marker
AGAIN = 3600.0  # and what of markers is listed again
PAUSE = 60.0  # seconds for which a bucket that could not be reached is left alone

_away: dict[Path, tuple[float, BenchError]] = {}  # mirror -> when its bucket could not be used, and why
_notified: set[tuple[Path, str]] = set()


def pull(store: Store, *, whole: bool = False, exactly: bool = False) -> None:
    """Fetch what the mirror lacks, and settle which merged files count; nothing to do for a store that is a folder.

    Args:
        store: The store; the caller holds its lock.
        whole: List the whole bucket, not only what was marked since the last time; raise if it cannot be used,
            rather than say that the mirror answers.
        exactly: Fetch merged files too when all they stand for is here.
    """

    def step(bucket: Bucket) -> None:
        _pull(store, bucket, whole, exactly)
        if _settle(store, bucket):
            _pull(store, bucket, True, exactly)

    def answers() -> str | None:
        """The state of what answers now; nothing may have come before the error, or a part."""
        if pulled := _state(store).get("pulled_at"):
            return f"Answers come from its mirror, as of {time.strftime('%Y-%m-%d %H:%M', time.localtime(pulled))}."
        return "Answers come from its mirror, which never saw all of it." if EventLog(store).files() else None

    _reach(store, step, whole, answers)


def push(store: Store, *, must: bool = False) -> None:
    """Upload what the bucket lacks; nothing to do for a store that is a folder.

    `must`: raise if the bucket cannot be used, rather than say that the next command uploads it.
    """
    if not store.remote:
        return
    known, here = _known(store), Folder(store.root)
    waiting = _unknown(store, known)
    left = [e for e in artefacts(here, store) if e.name not in known]
    if not waiting and not left:
        return

    def step(bucket: Bucket) -> None:
        copied = CopyResult()
        copy_rest(here, bucket, [e for e in waiting if not is_merged(e.name)], copied)  # `pull` settles those
        transfer(here, bucket, left, copied)
        _note_inventory(store, copied, mark(bucket, copied.entries))

    _reach(store, step, must, lambda: f"What was recorded is safe in {store.root}; the next command uploads it.")


def unread(store: Store) -> BenchError | None:
    """The reason why a mirror is empty and never saw its bucket; None for any other."""
    if not store.remote or "pulled_at" in _state(store) or EventLog(store).files():
        return None
    return _away.get(store.root, (0.0, None))[1]


def sweep(store: Store) -> None:
    """Delete from the bucket what merged files that count there stand for, and merged files that never came to count."""
    if not store.remote:
        return
    bucket = Bucket(store.remote)
    listed = [entry for table in TABLES for entry in bucket.list(f"events/{table}") if is_event_file(entry.name)]
    counting = holding(bucket)
    superseded: set[str] = set().union(*counting.merged.values())
    old = max((entry.modified_at for entry in listed), default=0.0) - DAY  # younger ones may be about to count
    for entry in listed:
        if base_name(entry.name) in superseded or (
            is_merged(entry.name) and entry.name not in counting.files and entry.modified_at < old
        ):
            bucket.delete(entry.name)


def disagreements(store: Store) -> dict[str, str]:
    """A sentence for each file that one of bucket and mirror lacks or holds in another size than the other, by its name."""
    if not store.remote:
        return {}
    here, there = holding(Folder(store.root)), holding(Bucket(store.remote))
    missed = _state(store)[MISSED]
    stood_for, found = (
        there.names(),
        {name: f"{store}/{name} is in no answer: its download was damaged." for name in missed},
    )
    for name, entry in here.files.items():
        theirs = there.files.get(name)
        if theirs and theirs.size_bytes != entry.size_bytes:
            found[name] = (
                f"{store}/{name} has {theirs.size_bytes} bytes, the mirror's {entry.size_bytes}. Delete the damaged one."
            )
        elif not theirs and not (unmerged(here.merged.get(name, ())) or {base_name(name)}) <= stood_for:
            found[name] = f"{store} does not hold {name}, which its mirror {store.root} does."
    return found


def mark(bucket: Bucket, entries: Sequence[Entry]) -> list[str]:
    """Leave a marker that these files were uploaded; returns the names of it, several if the server was slow."""
    if not entries:
        return []
    content = json.dumps({entry.name: entry.size_bytes for entry in entries}).encode()
    names, last = [], bucket.stat(entries[-1].name)
    now = last.modified_at if last else 0.0
    while True:
        names.append(f"uploads/{_stamp(now)}-{secrets.token_hex(8)}")
        bucket.create(names[-1], content)
        marker = bucket.stat(names[-1])
        if marker is None or marker.modified_at - now < LATE:
            return names
        now = marker.modified_at


def _pull(store: Store, bucket: Bucket, whole: bool, exactly: bool) -> None:
    state, known = _state(store), _known(store)
    since: float = state.get("since", 0.0)
    whole = whole or not 0 <= time.time() - state.get("listed_at", 0.0) < DAY
    if whole:
        # What markers name the listing tells anew; who never listed need not read all there ever were.
        markers = bucket.list("uploads", f"uploads/{_stamp(since - AGAIN)}") if since else iter(())
        seen = [*markers]
        has = holding(bucket)
        seen += [*has.files.values(), *bucket.list("artefacts")]
    else:
        has, seen = _marked(bucket, _stamp(since - AGAIN), known, state[MISSED])
    # What is here and was not known to be there has no marker, though it may be there: the next push sees to that.
    unmarked = {entry.name for entry in _unknown(store, known)}
    copied = CopyResult()
    if has.files:
        copy_events(bucket, Folder(store.root), copied, has=has, exactly=exactly)
    elif not (known or EventLog(store).files()):  # a name that was misspelt, perhaps
        _notify(store, f"{store} holds nothing yet.")
    # not to be uploaded again, though it is not there
    superseded = sorted(has.names() - set(map(base_name, has.files)))
    left = unmarked | copied.damaged.keys()
    _note_inventory(store, copied, [*(entry.name for entry in seen if entry.name not in left), *superseded], anew=whole)
    newest = max((entry.modified_at for entry in seen), default=0.0)
    now = time.time()
    changed = {"since": max(since, newest), "pulled_at": now, **({"listed_at": now} if whole else {})}
    publish_text(store.root / STATE, json.dumps({**state, **changed, MISSED: copied.damaged}))


def _unknown(store: Store, known: set[str]) -> list[Entry]:
    """The event files of the mirror that count and are not known to be in the bucket, or stood for there."""
    files = EventLog(store).files()
    here = {file: Entry(f"events/{file.table}/{file.name}", file.size_bytes, 0) for file in files}
    new = {file for file, entry in here.items() if file.name not in known and entry.name not in known}
    counting = counting_files(files) if new else ()  # which opens files
    return [here[file] for file in counting if file in new and is_event_file(here[file].name)]


def _marked(bucket: Bucket, after: str, known: set[str], missed: Mapping[str, int]) -> tuple[Holding, list[Entry]]:
    """Files uploaded since, by markers not yet read, and files missed before; the markers and all these files."""
    markers = [entry for entry in bucket.list("uploads", f"uploads/{after}") if entry.name not in known]
    named: dict[str, int] = dict(missed)
    for content in at_once(lambda marker: bucket.read(marker.name), markers):
        with contextlib.suppress(ValueError, TypeError):  # whoever made it, it was not we
            named |= {str(name): int(size) for name, size in dict(json.loads(content)).items()}
    files = {name: Entry(name, size, 0) for name, size in named.items() if name not in known and is_event_file(name)}
    if any(map(is_merged, files)):
        files = counting(files, newest_record(bucket)[1])
    has = holding_of(bucket, files)
    return has, [*markers, *has.files.values()]


def _settle(store: Store, bucket: Bucket) -> bool:
    """Have what was merged here count in the bucket, or drop it where other machines merged the same files otherwise.

    Returns:
        Whether some was dropped, so that the bucket has to be listed again.
    """
    here = Folder(store.root)
    mine = [entry for entry in _unknown(store, _known(store)) if is_merged(entry.name)]
    if not mine:
        return False
    copied = CopyResult()
    transfer(here, bucket, mine, copied)
    stands = {entry.name: stands_for(here, entry.name) for entry in copied.entries}
    clashes = commit(bucket, stands)
    there = holding(bucket).names() if clashes else set()
    dropped = [name for name in clashes if unmerged(stands[name]) <= there]
    for name in dropped:
        here.delete(name)
        store.database.unlink(missing_ok=True)  # derived, from that file among others
    copied.problems |= {name: reason for name, reason in clashes.items() if name not in dropped}
    counted = [entry for entry in copied.entries if entry.name not in clashes]
    _note_inventory(store, CopyResult(counted, copied.problems), mark(bucket, counted))
    return bool(dropped)


def _note_inventory(store: Store, copied: CopyResult, names: Iterable[str], *, anew: bool = False) -> None:
    """Note what is known to be in the bucket now, and say what could not be copied."""
    lines = "".join(f"{name}\n" for name in dict.fromkeys([*names, *(entry.name for entry in copied.entries)]))
    if anew:
        publish_text(store.root / UPLOADED, lines)
    elif lines:
        # What is lost of it is found to be there, and noted again. A pipe in its place is not waited for.
        with open(store.root / UPLOADED, "a", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK)) as file:
            file.write(lines)
    told = [*copied.damaged][SHOWN:]  # are alike
    for name, problem in copied.problems.items():
        if name not in told:
            _notify(store, problem)
    if copied.damaged:
        _notify(
            store,
            f"{counted(len(copied.damaged), 'file')} of {store} could not be copied: answers are without what they hold.",
        )


def _known(store: Store) -> set[str]:
    try:
        return set(read_text(store.root / UPLOADED).splitlines())
    except (OSError, ValueError):  # damaged: what is in the bucket is listed, and noted anew
        return set()


def _state(store: Store) -> dict[str, Any]:
    """The address, of `TIMES` those that can be true, and what was missed."""
    try:
        found = read_json(store.root / STATE)
    except (OSError, ValueError):
        found = {}
    times = {key: found.get(key) for key in TIMES} if isinstance(found, dict) else {}
    latest = time.time() + DAY
    missed = found.get(MISSED) if isinstance(found, dict) else None
    missed = {name: size for name, size in missed.items() if isinstance(size, int)} if isinstance(missed, dict) else {}
    return {"url": store.remote, MISSED: missed} | {
        key: value for key, value in times.items() if isinstance(value, int | float) and 0 <= value < latest
    }


def _stamp(seconds: float) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(max(0.0, seconds)))


def _reach(store: Store, step: Callable[[Bucket], None], must: bool, otherwise: Callable[[], str | None]) -> None:
    """Do a step with the bucket. If it cannot be used that is said once, and for a minute it is left alone.

    `otherwise` is asked then for a sentence that says what follows; None where another error will.
    """

    def tell(error: BenchError) -> None:
        if follows := otherwise():
            _notify(store, f"{str(error).rstrip('.')}. {follows}")

    if not store.remote:
        return
    when, why = _away.get(store.root, (-PAUSE, None))
    if why and not must and time.monotonic() - when < PAUSE:
        tell(why)
        return
    try:
        step(Bucket(store.remote))
    except BenchError as error:
        _away[store.root] = time.monotonic(), error
        if must:
            raise
        tell(error)
    else:
        _away.pop(store.root, None)


def _notify(store: Store, sentence: str) -> None:
    """Tell the person at the terminal, once a process."""
    if (store.root, sentence) not in _notified:
        _notified.add((store.root, sentence))
        print(sentence, file=sys.stderr)
