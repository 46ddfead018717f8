"""The harness: run a command and weigh it, record a figure with its reference and its bar, print them all."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import bench
from bench.warehouse.console.tables import write_rows
from bench.warehouse.database import Warehouse
from bench.warehouse.load import load
from bench.warehouse.store import Store

STORE = Path(".bench-figures")
SLOWER = 1.3  # times the last value on this machine, and the last ratio to the reference: more of a cost is a failure
COSTS = (
    "s",
    "ms",
    "ns",
    "MB",
    "B",
    "bytes",
)  # units of figures that are costs; bench records times in ns and sizes in bytes
# The last value of a figure before this run on a machine of the same name and processor.
BEFORE = """
WITH machines AS (
    SELECT run_id, started_at, (host, cpu, logical_cores) AS machine FROM runs LEFT JOIN environments USING (environment_id)
),
figures AS (
    SELECT run_id, name, any_value(unit) FILTER (metric = 'value') AS unit,
        any_value(value) FILTER (metric = 'value') AS value, any_value(value) FILTER (metric = 'reference') AS reference
    FROM cases JOIN metrics USING (run_id, case_id) GROUP BY ALL
),
before AS (
    SELECT name, max_by(value, started_at) AS value, max_by(reference, started_at) AS reference
    FROM figures JOIN machines m USING (run_id)
    WHERE m.machine = (SELECT machine FROM machines WHERE run_id = $run) AND run_id <> $run
        AND started_at < (SELECT started_at FROM machines WHERE run_id = $run)
    GROUP BY name
)
SELECT name, now.unit, before.value, now.value FROM figures now JOIN before USING (name)
WHERE now.run_id = $run AND now.unit IN (SELECT unnest($costs)) AND now.value > $slower * before.value
    AND coalesce(now.value / now.reference > $slower * before.value / before.reference, true)
ORDER BY name
"""
BENCH = (sys.executable, "-m", "bench")

# Starts a command from a process too small to lend it a memory peak: ru_maxrss is inherited through exec. The peak is
# the larger of its own exact one and of what it and its children held together, looked at every 10 ms.
LAUNCHER = """
import os, select, sys, time

def together(pid):
    with open(f"/proc/{pid}/statm") as statm:
        pages = int(statm.read().split()[1])
    with open(f"/proc/{pid}/task/{pid}/children") as children:
        return pages + sum(map(together, children.read().split()))

start = time.perf_counter()
child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
ended, most = os.pidfd_open(child), 0
while not select.select([ended], [], [], 0.01)[0]:
    try:
        most = max(most, together(child))
    except (OSError, IndexError, ValueError):
        pass
seconds = time.perf_counter() - start
_, status, usage = os.wait4(child, 0)
peak = max(usage.ru_maxrss * 1024, most * os.sysconf("SC_PAGE_SIZE"))
print(seconds, usage.ru_utime + usage.ru_stime, peak, os.waitstatus_to_exitcode(status), file=sys.stderr)
"""


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a command took; memory is that of its whole process tree."""

    seconds: float
    processor_seconds: float
    peak_bytes: int
    stdout: str


def weigh(command: Sequence[str], *, env: dict[str, str] | None = None, cwd: Path | None = None) -> Weighed:
    """Run a command in a fresh process; fail loudly if it fails."""
    launcher = [sys.executable, "-S", "-E", "-c", LAUNCHER, *command]  # the first word of command is a path
    done = subprocess.run(launcher, capture_output=True, text=True, env={**os.environ, **(env or {})}, cwd=cwd)
    *talk, last = done.stderr.splitlines()
    seconds, processor, peak, code = last.split()
    if int(code):
        raise SystemExit(f"{' '.join(command)} exited with {code}:\n" + "\n".join(talk))
    return Weighed(float(seconds), float(processor), int(peak), done.stdout)


def python(source: str, *arguments: str) -> Weighed:
    """Run Python source in a fresh process."""
    return weigh([sys.executable, "-c", source, *arguments])


class Figures:
    """The figures of one run."""

    def __init__(self) -> None:
        self.store = Store.find(STORE)
        self.run = bench.run("figures", suite="figures", store=self.store)

    def add(self, name: str, value: float, unit: str, *, reference: float | None = None, most: float | None = None,
            ratio_most: float | None = None, ratio_least: float | None = None, against: str = "") -> None:  # fmt: skip
        """Record a figure.

        Args:
            name: What was measured.
            value: What it came to.
            unit: Its unit: s, ns, MB, rows/s …
            reference: The same for the reference.
            most: The bar on the value.
            ratio_most: The bar on value / reference.
            ratio_least: The bar on reference / value (how many times cheaper).
            against: What the reference is.
        """
        case = self.run.case(name, suite="figures", parameters={"against": against} if against else None)
        case.metric("value", value, unit=unit)
        for metric, number in (
            ("reference", reference), ("most", most), ("ratio_most", ratio_most), ("ratio_least", ratio_least),
        ):  # fmt: skip
            if number is not None:
                case.metric(metric, number, unit=unit if metric in ("reference", "most") else "ratio")
        kept = (
            (most is None or value <= most)
            and (ratio_most is None or reference is None or value <= ratio_most * reference)
            and (ratio_least is None or reference is None or reference >= ratio_least * value)
        )
        case.outcome("ok" if kept else "failed", reason=None if kept else "beyond its bar")
        print(f"{name}: {value:,.3f} {unit}" + (f", {against} {reference:,.3f}" if reference else ""), file=sys.stderr)

    def report(self) -> int:
        """Print all figures of this run; returns 1 if one is beyond its bar, or has grown since the last run on this machine."""
        load(self.store)
        with Warehouse.open(self.store) as warehouse:
            found = warehouse.rows(
                "WITH f AS (SELECT c.name, any_value(json_extract_string(c.parameters, '$.against')) AS against,"
                " any_value(o.status) AS status, map_from_entries(list((m.metric, m.value))) AS v,"
                " any_value(m.unit) FILTER (m.metric = 'value') AS unit, min(c.recorded_at) AS seen"
                " FROM cases c JOIN metrics m USING (run_id, case_id) JOIN outcomes o USING (run_id, case_id)"
                " WHERE c.run_id = ? GROUP BY c.name)"
                " SELECT name, round(v['value'], 3), unit, against, round(v['reference'], 3),"
                " round(v['value'] / v['reference'], 3), v['most'], v['ratio_most'], 1 / v['ratio_least'], status"
                " FROM f ORDER BY seen",
                [self.run.run_id],
            )
            grown = warehouse.rows(BEFORE, {"run": self.run.run_id, "costs": list(COSTS), "slower": SLOWER})
        headings = [
            "figure", "value", "unit", "beside", "reference", "ratio", "bar", "ratio bar", "or ratio bar", "kept",
        ]  # fmt: skip
        write_rows(headings, found, "table")
        for name, unit, before, now in grown:
            print(
                f"{name}: {now / before:.2f} x the {before:,.4g} {unit} of the last run on this machine",
                file=sys.stderr,
            )
        return int(bool(grown) or any(row[-1] != "ok" for row in found))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.run.__exit__(kind, error, trace)
