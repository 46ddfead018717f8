"""A plan shared by a fleet: each workload is measured by the machine that claims it first; see engine/claims."""

import contextlib
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence

from ...warehouse import environment
from ...warehouse.errors import Missing
from ...warehouse.recorder import case_ids
from ...warehouse.remote.places import Place
from ...warehouse.store import Notify
from ..engine.claims import DONE, ClaimFolder
from ..engine.workload import Settings, Workload
from ..suites.source_digest import source_digest
from .resume import material


class Claims(ClaimFolder):
    """The workloads of a plan that this machine gets; iterating claims the next one, and marks the one before as done."""

    def __init__(self, place: Place, fleet: str, plan: Sequence[Workload], settings: Settings, run_id: str) -> None:
        """Prepare to claim. Another plan, settings, commit or code is another claim."""
        facts = [
            environment.git()[0],
            material(settings.to_dict()),
            sorted({source_digest(workload.target) or "" for workload in plan}),
            sorted(case_ids(**workload.axes(backend))[0] for workload in plan for backend in workload.backends),
        ]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
        super().__init__(place, f"claims/{fleet}/{digest}", run_id)
        self.name = fleet
        self.settings = settings

    def of(self, plan: Sequence[Workload]) -> Iterator[Workload]:
        """Claim one workload after another, as long as there is an unclaimed one."""
        for workload in plan:
            if self.take(case_ids(**workload.axes(""))[1]):
                yield workload
                self.done()

    def report(self, notify: Notify) -> None:
        """Report what other machines measured or hold, and whether some measure another plan under this name."""
        newest = {entry.name.rpartition(".")[0]: entry for entry in self.place.list(self.folder)}
        counts: Counter[tuple[str, str, str]] = Counter()
        for entry in newest.values():
            with contextlib.suppress(Missing):
                holder = self.read(entry.name)
                if holder.run_id != self.run_id:
                    seen = time.strftime(", last heard of at %F %H:%M UTC", time.gmtime(entry.modified_at))
                    counts[holder.host, "" if entry.name.endswith(DONE) else seen, holder.run_id] += 1
        for (host, seen, run_id), count in sorted(counts.items()):
            notify(f"{host} {'holds' if seen else 'measured'} {count} of the plan's workloads{seen}, in run {run_id}")
        plans = {entry.name.split("/")[2] for entry in self.place.list(f"claims/{self.name}")}
        if others := plans - {self.folder.rpartition("/")[2]}:
            notify(
                f"{len(others)} other {'plan is' if len(others) == 1 else 'plans are'} measured under this name: of other "
                "cases or settings, or of other code"
            )
