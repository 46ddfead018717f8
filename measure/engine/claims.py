"""Claims: who of several machines that share a store does what.

A claim is a small file of the store, `claims/<name>/<what>/<key>.0001`. If several machines try to create it at once, on
a shared disk or in a bucket, exactly one succeeds. The file names its holder, who touches it every minute: that is its
heartbeat. If nobody has touched it for ten minutes, or at once if the holder was a process of this very machine, boot and
namespace of processes that is gone, the next machine creates `….0002`. What is done has a file `….done`; Ctrl-C gives its
claim back.
"""

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Self

from ...warehouse import environment
from ...warehouse.errors import BenchError, Missing
from ...warehouse.locks import STALE_S
from ...warehouse.remote.places import Entry, Place

DONE = ".done"
HEARTBEAT_S = 60.0


@dataclass(frozen=True, slots=True)
class Holder:
    """The machine and process that claimed a workload, as far as the claim can be read."""

    run_id: str = ""
    pid: int = 0
    host: str = "another machine"
    boot: str = ""
    processes: str = ""  # namespace of process ids

    def has_died(self) -> bool:
        """True if it was a process of this machine, boot and namespace, and has ended; processes elsewhere cannot be seen."""
        ours = all(getattr(self, key) == value for key, value in environment.machine().items())
        return ours and not _runs(self.pid)

    def to_json(self) -> bytes:
        """The content of a claim file."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Read the content of a claim file, which may be damaged, or another version's."""
        try:
            found = dict(json.loads(content))
            return cls(**{f.name: f.type(found[f.name]) for f in fields(cls) if f.name in found})  # type: ignore[operator]
        except (ValueError, TypeError, RecursionError):
            return cls()


class ClaimFolder:
    """The claims of one piece of shared work; at most one is held at a time."""

    def __init__(self, place: Place, folder: str, run_id: str) -> None:
        """Prepare to claim. Claims lie in `folder` below `claims/`; what is claimed is done by the run."""
        self.place = place
        self.folder = folder
        self.run_id = run_id
        self._me = Holder(run_id, os.getpid(), **environment.machine())
        self._held: tuple[str, str] | None = None  # key, name of the claim
        self._lock = threading.Lock()  # for what is held: a claim that was given back must not be touched
        self._heart: threading.Thread | None = None

    def take(self, key: str) -> bool:
        """Claim it, unless it is done or somebody holds it who may still live."""
        entries = [entry for entry in self.place.list(self.folder) if entry.name.startswith(f"{self.folder}/{key}.")]
        turn = 1
        if entries:  # sorted, so that DONE is last
            last = entries[-1]
            with contextlib.suppress(Missing):  # given back just now
                if last.name.endswith(DONE) or not self._is_free(last):
                    return False
            turn = int(last.name[-4:]) + 1
        name = f"{self.folder}/{key}.{turn:04d}"
        if not self.place.create(name, self._me.to_json()):
            return False
        self._held = key, name
        if self._heart is None:
            self._heart = threading.Thread(target=self._beat, name="bench-claim", daemon=True)
            self._heart.start()
        return True

    def held(self) -> Iterator[str]:
        """The keys that are held and not done."""
        newest = {entry.name.rpartition(".")[0]: entry for entry in self.place.list(self.folder)}
        for name, entry in newest.items():
            with contextlib.suppress(Missing):
                if not entry.name.endswith(DONE) and not self._is_free(entry):
                    yield name.rpartition("/")[2]

    def _is_free(self, claim: Entry) -> bool:
        return _is_silent(claim) or self.read(claim.name).has_died()

    def _beat(self) -> None:
        """Touch the claim that is held, as long as this process lives."""
        while True:
            time.sleep(HEARTBEAT_S)
            with self._lock, contextlib.suppress(BenchError):  # out of reach for now: others wait ten minutes
                if self._held:
                    self.place.touch(self._held[1])

    def done(self) -> None:
        """Mark what is held as done."""
        with self._lock:
            if self._held:
                self.place.create(f"{self.folder}/{self._held[0]}{DONE}", self._me.to_json())
                self._held = None

    def give_back(self) -> None:
        """Release what is held and not done."""
        with self._lock:
            if self._held:
                self.place.delete(self._held[1])
                self._held = None

    def read(self, name: str) -> Holder:
        """The holder of a claim."""
        return Holder.of(self.place.read(name))


def _is_silent(claim: Entry) -> bool:
    """Return whether its heartbeat has stopped, by the clocks of the place and of this machine."""
    return time.time() - claim.modified_at > STALE_S


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
