"""The contents of a site, read from the store once: runs, cases, series that changed, suites."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...query.axes import AXES
from ...query.change import history as past
from ...query.change import series as chosen
from ...query.change.incidents import SMALL
from ...query.change.render import PANEL
from ...query.change.settled import Searches
from . import tiles
from .private import ENDING, ENVIRONMENT, LOG, RUN, environment, published, shortened

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

Row = dict[str, Any]
SPARK = 60  # runs of a spark line
CONFIGS = 8  # newest, whose suites the front page lists

LARGE = f"better IS NOT NULL AND kind <> 'two levels' AND cost >= {SMALL} AND lasts IS DISTINCT FROM false"  # of `incidents`
CASES = (  # those with any value or ending
    "FROM case_axes WHERE case_id IN (SELECT case_id FROM cells UNION SELECT case_id FROM step_cells"
    " UNION SELECT case_id FROM case_outcomes)"
)
# Cases that passed in the report before the newest of their config, and are absent or failed in that.
LOST = (
    "FROM coverage_losses WHERE run_id IN (SELECT run_id FROM run_details QUALIFY"
    " row_number() OVER (PARTITION BY config ORDER BY began_at DESC NULLS LAST, run_id DESC) = 1)"
)
_LABELS = f"""SELECT metric, phase, unit, better, count(*) AS n FROM _all_cells WHERE {tiles.KEPT}
GROUP BY metric, phase, unit, better
ORDER BY metric NOT LIKE '%latency', metric = 'compile_latency', metric, phase, unit, better"""
# Those of the newest report of each suite and backend of a config.
_NEWEST_SUITES = f"""FROM executive_summary()
QUALIFY row_number() OVER (PARTITION BY {", ".join(PANEL)} ORDER BY began_at DESC NULLS FIRST) = 1
ORDER BY {", ".join(PANEL[1:])}, began_at"""


@dataclass(frozen=True, slots=True)
class SiteContents:
    """All of it."""

    runs: Sequence[Row]  # of run_details, oldest first
    machines: Mapping[str, str]  # run -> its class of machine
    cases: Sequence[Row]  # of case_axes
    labels: Sequence[Row]  # metric, phase, unit, better
    values: int  # how many the site holds
    digests: Mapping[str, str]  # run -> what its values and endings add up to
    history: past.History | None  # None where there is too little to judge
    suites: Sequence[Row]  # of executive_summary, of the newest report of each config
    lost: int  # how many LOST has
    sparks: Mapping[tuple[Any, ...], Sequence[Row]]  # panel -> rows of history(), oldest first


def read(warehouse: "Warehouse", searches: Searches, *, logs: bool) -> SiteContents:
    """Read a store; `searches` is what is known of changes, and takes what is found. With `logs` they are published too."""
    known = ", ".join(("host", *RUN, *ENVIRONMENT))
    runs = warehouse.dicts(f"SELECT {known} FROM run_details ORDER BY began_at NULLS FIRST, run_id")
    machines = {run: shortened(name) for run, name in warehouse.rows("SELECT run_id, machine FROM machines") if name}
    stepped = "case_id IN (SELECT case_id FROM step_cells) AS is_stepped"
    cases = warehouse.dicts(f"SELECT case_id, {', '.join(AXES)}, {stepped} {CASES} ORDER BY suite, name, case_id")
    labels = warehouse.dicts(_LABELS)
    values = sum(label["n"] for label in labels)
    chosen.choose(warehouse, {})
    series = chosen.read(warehouse)
    history = past.find(series, min_magnitude=past.MIN_MAGNITUDE, searches=searches) if series else None
    suites = warehouse.dicts(_NEWEST_SUITES)
    sparks: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in warehouse.dicts(f"FROM history(k := {SPARK:d}) ORDER BY position"):
        sparks[tuple(row[column] for column in PANEL)].append(row)
    newest = _of_newest(suites, runs)
    last = list({run["config"]: run["run_id"] for run in runs}.values())
    ((lost,),) = warehouse.rows("SELECT count(*) FROM _coverage_losses(?::VARCHAR[])", [last])
    digests = _digests(warehouse, logs)
    return SiteContents(runs, machines, cases, labels, values, digests, history, newest, lost, sparks)


def _of_newest(suites: Sequence[Row], runs: Sequence[Row]) -> list[Row]:
    """The suites of the newest configs, those of the newest config first."""
    places = {config: place for place, config in enumerate(dict.fromkeys(run["config"] for run in reversed(runs)))}
    kept = [row for row in suites if places.get(row["config"], CONFIGS) < CONFIGS]
    return sorted(kept, key=lambda row: places[row["config"]])


def _digests(warehouse: "Warehouse", logs: bool) -> dict[str, str]:
    """A checksum of each run, which tells whether any of its values or endings changed.

    It stands in the site, so it is made of published columns only: of others a guess could be checked against it.
    """
    values = "case_id, metric, phase, unit, median, median_low, median_high, n"
    endings = ", ".join(("case_id", "kind", *ENDING, *(LOG if logs else ())))
    found: dict[str, str] = {}
    for query in (
        f"SELECT run_id, bit_xor(hash({values})) FROM _all_cells WHERE {tiles.KEPT} GROUP BY run_id",
        f"SELECT run_id, bit_xor(hash({endings})) FROM case_outcomes GROUP BY run_id",
    ):
        for run, digest in warehouse.rows(query):
            found[run] = f"{found.get(run, '')}{digest:x}."
    return found


def of_runs(contents: SiteContents) -> dict[str, Any]:
    """The runs as the page wants them: columns, with what repeats once."""
    hosts: dict[Any, int] = {}
    environments: dict[str, int] = {}
    made: dict[str, dict[str, str]] = {}  # by their columns: most runs have those of another
    facts: list[dict[str, str]] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("environment", "host", "machine", *RUN)}
    for run in contents.runs:
        raw = repr([run[column] for column in ENVIRONMENT])
        if raw not in made:
            made[raw] = environment(run)
        own = made[raw]
        key = repr(own)
        if key not in environments:
            environments[key] = len(facts)
            facts.append(own)
        columns["environment"].append(environments[key])
        columns["host"].append(hosts.setdefault(run["host"], len(hosts) + 1) if run["host"] is not None else None)
        columns["machine"].append(contents.machines.get(run["run_id"]))
        for column in RUN:
            value = run[column]
            if column == "began_at":
                value = value.strftime("%Y-%m-%d %H:%M") if value is not None else None
            columns[column].append(published(value))
    return {"columns": columns, "environments": facts}


def of_cases(contents: SiteContents, groups: int) -> dict[str, Any]:
    """The cases as the page wants them: columns, with the group of the tiles that each is in."""
    columns = {name: [published(case[name]) for case in contents.cases] for name in ("case_id", *AXES)}
    groups_of = [tiles.group_of(case["case_id"], groups) for case in contents.cases]
    return {
        "columns": {
            name: values
            for name, values in columns.items()
            if name in ("case_id", "name") or any(value is not None for value in values)
        },
        "group": groups_of,
        "stepped": [place for place, case in enumerate(contents.cases) if case["is_stepped"]],
        "labels": [
            [published(label[name]) for name in ("metric", "phase", "unit", "better")] for label in contents.labels
        ],
    }
