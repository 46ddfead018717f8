"""A plan shared by a fleet: each workload is measured by the machine that claims it first.

A claim is a small file of the store, `claims/<fleet>/<plan>/<workload>.0001`. If several machines try to create it at once, on
a shared disk or in a bucket, exactly one succeeds. The file names its holder, who touches it every minute: that is its
heartbeat. If nobody has touched it for ten minutes, or at once if the holder was a process of this very machine, boot and
namespace of processes that is gone, the next machine creates `….0002`. A measured workload has a file `….done`; Ctrl-C gives
its claim back.
"""

import contextlib
import hashlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Self

from ...warehouse import environment
from ...warehouse.errors import BenchError, Missing
from ...warehouse.log import STALE_S
from ...warehouse.recorder import case_ids
from ...warehouse.remote.places import Entry, Place
from ...warehouse.store import Notify
from ..engine.workload import Settings, Workload
from .resume import material

DONE = ".done"
HEARTBEAT_S = 60.0


@dataclass(frozen=True, slots=True)
class Holder:
    """Who claimed a workload, as far as the claim can be read."""

    run_id: str = ""
    pid: int = 0
    host: str = "another machine"
    boot: str = ""
    processes: str = ""  # namespace of process ids

    def has_died(self) -> bool:
        """Whether it was a process of this machine, boot and namespace, and has ended; what is elsewhere nobody can see."""
        ours = all(getattr(self, key) == value for key, value in environment.machine().items())
        return ours and not _runs(self.pid)

    def to_json(self) -> bytes:
        """As the content of a claim."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()

    @classmethod
    def of(cls, content: bytes) -> Self:
        """From the content of a claim, which may be damaged, or another version's."""
        try:
            found = dict(json.loads(content))
            return cls(**{f.name: f.type(found[f.name]) for f in fields(cls) if f.name in found})  # type: ignore[operator]
        except (ValueError, TypeError, RecursionError):
            return cls()


class Claims:
    """The workloads of a plan that this machine gets; iterating claims the next one, and marks the one before as done."""

    def __init__(self, place: Place, fleet: str, plan: Sequence[Workload], settings: Settings, run_id: str) -> None:
        """Prepare to claim.

        Args:
            place: Where the store's files lie.
            fleet: What machines call it that share the plan.
            plan: All of it, the same on every machine.
            settings: How it is measured; other settings, or another commit, are another plan.
            run_id: The run that measures what is claimed.
        """
        self.place = place
        self.name = fleet
        self.settings = settings
        self.run_id = run_id
        facts = [
            environment.git()[0],
            material(settings.to_dict()),
            sorted(case_ids(**workload.axes(backend))[0] for workload in plan for backend in workload.backends),
        ]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
        self.folder = f"claims/{fleet}/{digest}"
        self._me = Holder(run_id, os.getpid(), **environment.machine())
        self._held: tuple[str, str] | None = None  # workload, name of the claim
        self._lock = threading.Lock()  # for what is held: a claim that was given back must not be touched
        self._heart: threading.Thread | None = None

    def of(self, plan: Sequence[Workload]) -> Iterator[Workload]:
        """Claim one workload after another, as long as there is an unclaimed one."""
        for workload in plan:
            if self._take(workload):
                yield workload
                self._done()

    def _take(self, workload: Workload) -> bool:
        key = case_ids(**workload.axes(""))[1]
        entries = [entry for entry in self.place.list(self.folder) if entry.name.startswith(f"{self.folder}/{key}.")]
        turn = 1
        if entries:  # sorted, so that DONE is last
            last = entries[-1]
            with contextlib.suppress(Missing):  # given back just now
                if last.name.endswith(DONE) or not (_is_silent(last) or self._read(last.name).has_died()):
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

    def _beat(self) -> None:
        """Touch the claim that is held, as long as this process lives."""
        while True:
            time.sleep(HEARTBEAT_S)
            with self._lock, contextlib.suppress(BenchError):  # out of reach for now: others wait ten minutes
                if self._held:
                    self.place.touch(self._held[1])

    def _done(self) -> None:
        with self._lock:
            if self._held:
                self.place.create(f"{self.folder}/{self._held[0]}{DONE}", self._me.to_json())
                self._held = None

    def give_back(self) -> None:
        """Release the claim of a workload that is not done."""
        with self._lock:
            if self._held:
                self.place.delete(self._held[1])
                self._held = None

    def report(self, notify: Notify) -> None:
        """Report what other machines measured or hold, and whether some measure another plan under this name."""
        newest = {entry.name.rpartition(".")[0]: entry for entry in self.place.list(self.folder)}
        counts: Counter[tuple[str, str, str]] = Counter()
        for entry in newest.values():
            with contextlib.suppress(Missing):
                holder = self._read(entry.name)
                if holder.run_id != self.run_id:
                    seen = time.strftime(", last heard of at %F %H:%M UTC", time.gmtime(entry.modified_at))
                    counts[holder.host, "" if entry.name.endswith(DONE) else seen, holder.run_id] += 1
        for (host, seen, run_id), count in sorted(counts.items()):
            notify(f"{host} {'holds' if seen else 'measured'} {count} of the plan's workloads{seen}, in run {run_id}")
        plans = {entry.name.split("/")[2] for entry in self.place.list(f"claims/{self.name}")}
        if others := plans - {self.folder.rpartition("/")[2]}:
            notify(
                f"{len(others)} other {'plan is' if len(others) == 1 else 'plans are'} measured under this name: of other "
                "cases or settings, or of another commit"
            )

    def _read(self, name: str) -> Holder:
        return Holder.of(self.place.read(name))


def _is_silent(claim: Entry) -> bool:
    """Whether its heartbeat has stopped, by the clocks of the place and of this machine."""
    return time.time() - claim.modified_at > STALE_S


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
