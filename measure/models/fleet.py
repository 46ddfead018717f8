"""A plan shared by a fleet: each workload is measured by the machine that claims it first.

A claim is a small file of the store, `claims/<fleet>/<plan>/<workload>.0001`. If several machines try to create it at once, on
a shared disk or in a bucket, exactly one succeeds. The file names its holder and an end time, the longest that the workload's
workers may take. After that time, or at once if the holder's process on this host is gone, the next machine creates
`….0002`. A measured workload has a file `….done`; Ctrl-C gives its claim back.
"""

import contextlib
import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...warehouse import environment
from ...warehouse.errors import Missing
from ...warehouse.recorder import case_ids
from ...warehouse.remote.places import Place
from ...warehouse.store import Notify
from ..engine.workload import Settings, Workload
from .resume import material

DONE = ".done"
SPARE_S = 600.0  # for loading, and for clocks that differ


@dataclass(frozen=True, slots=True)
class Holder:
    """Who claimed a workload; `until` is in seconds since 1970, by the clock of the host."""

    run_id: str
    host: str
    pid: int
    until: float

    @property
    def gone(self) -> bool:
        """Whether its time is over, or it was a process of this host that has ended."""
        return time.time() > self.until or (self.host == os.uname().nodename and not _runs(self.pid))

    def to_json(self) -> bytes:
        """As the content of a claim."""
        return json.dumps({name: getattr(self, name) for name in self.__slots__}).encode()


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
        self._held: tuple[str, str, Holder] | None = None  # workload, name of the claim, content

    def of(self, plan: Sequence[Workload]) -> Iterator[Workload]:
        """Claim one workload after another, as long as there is an unclaimed one."""
        for workload in plan:
            if self._take(workload):
                yield workload
                self._done()

    def _take(self, workload: Workload) -> bool:
        key = case_ids(**workload.axes(""))[1]
        names = [entry.name for entry in self.place.list(self.folder) if entry.name.startswith(f"{self.folder}/{key}.")]
        turn = 1
        if names:  # sorted, so that DONE is last
            with contextlib.suppress(Missing):  # given back just now
                if names[-1].endswith(DONE) or not self._read(names[-1]).gone:
                    return False
            turn = int(names[-1][-4:]) + 1
        workers = len(workload.backends) + 1  # at most: one for each, and one that its reference ends
        until = time.time() + SPARE_S + self.settings.timeout_s * workers
        mine = Holder(self.run_id, os.uname().nodename, os.getpid(), until)
        name = f"{self.folder}/{key}.{turn:04d}"
        if not self.place.create(name, mine.to_json()):
            return False
        self._held = key, name, mine
        return True

    def _done(self) -> None:
        if self._held:
            key, _, mine = self._held
            self.place.create(f"{self.folder}/{key}{DONE}", mine.to_json())
            self._held = None

    def give_back(self) -> None:
        """Release the claim of a workload that is not done."""
        if self._held:
            self.place.delete(self._held[1])
            self._held = None

    def report(self, notify: Notify) -> None:
        """Report what other machines measured or hold, and whether some measure another plan under this name."""
        newest = {entry.name.rpartition(".")[0]: entry.name for entry in self.place.list(self.folder)}
        counts: Counter[tuple[str, str, str]] = Counter()
        for name in newest.values():
            with contextlib.suppress(Missing):
                holder = self._read(name)
                if holder.run_id != self.run_id:
                    until = (
                        "" if name.endswith(DONE) else time.strftime(" until %F %H:%M UTC", time.gmtime(holder.until))
                    )
                    counts[holder.host, until, holder.run_id] += 1
        for (host, until, run_id), count in sorted(counts.items()):
            notify(f"{host} {'holds' if until else 'measured'} {count} of the plan's workloads{until}, in run {run_id}")
        plans = {entry.name.split("/")[2] for entry in self.place.list(f"claims/{self.name}")}
        if others := plans - {self.folder.rpartition("/")[2]}:
            notify(
                f"{len(others)} other {'plan is' if len(others) == 1 else 'plans are'} measured under this name: of other "
                "cases or settings, or of another commit"
            )

    def _read(self, name: str) -> Holder:
        return Holder(**json.loads(self.place.read(name)))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
