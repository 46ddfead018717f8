"""The comparisons that a page opens with verdicts: each round and the one before, newest configs of a kind, incidents.

They are those of `bench compare`, made when publishing and written as it prints them, and made anew where a run of theirs
changed; any other pair the page sets side by side without verdicts, for these need all that was measured before.
"""

import hashlib
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._version import __version__
from ...query.comparison import render
from ...query.comparison.compare import Comparison, compare
from ...query.comparison.sides import find_sides
from ...warehouse.errors import BenchError
from .folder import SiteFolder
from .payload import pack, script
from .private import shortened

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

ROUNDS = 5  # newest of each config, each judged against the one before
CONFIGS = 4  # newest that measured the same suites, judged against each other
NEWEST = 50  # configs that may be among them
FORMAT = 4  # of a pair's file: those of another are made anew
KINDS = 8  # sets of suites whose configs are
INCIDENTS = 5  # costliest, whose first run is judged against the last good one

Pair = tuple[str, str]


def chosen(warehouse: "Warehouse", incidents: Sequence[Mapping[str, Any]]) -> list[Pair]:
    """The pairs of runs, base first, the newest first."""
    rounds = warehouse.rows(
        "SELECT config, run_ids[-1] FROM _round_runs ORDER BY began_at DESC NULLS LAST, run_ids[-1] DESC"
    )
    of_config: dict[str, list[str]] = {}
    for config, run in rounds:
        of_config.setdefault(config, []).append(run)
    pairs = [
        (before, after) for runs in itertools.islice(of_config.values(), 3 * CONFIGS)
        for after, before in itertools.pairwise(runs[: ROUNDS + 1])
    ]  # fmt: skip
    for newest in itertools.islice(_kinds(warehouse, [runs[0] for runs in of_config.values()]), KINDS):
        pairs += [(before, after) for after, before in itertools.combinations(newest[:CONFIGS], 2)]
    pairs += [(row["good_run_id"], row["since_run_id"]) for row in incidents[:INCIDENTS] if row["good_run_id"]]
    return list(dict.fromkeys(pair for pair in pairs if pair[0] != pair[1]))


def _kinds(warehouse: "Warehouse", runs: Sequence[str]) -> Iterable[list[str]]:
    """Runs in their order by the suites that they measured."""
    of_run = "list_contains(?::VARCHAR[], run_id) GROUP BY run_id"
    query = f"SELECT run_id, list(DISTINCT suite ORDER BY suite) FROM _all_cells WHERE {of_run}"
    suites = dict(warehouse.rows(query, [runs[:NEWEST]]))
    kinds: dict[str, list[str]] = {}
    for run in runs[:NEWEST]:
        if run in suites:
            kinds.setdefault(str(suites[run]), []).append(run)
    return kinds.values()


def write(
    warehouse: "Warehouse",
    folder: SiteFolder,
    pairs: Sequence[Pair],
    configs: Mapping[str, str],
    digests: Mapping[str, str],
    *,
    logs: bool,
) -> dict[str, str]:
    """Write a file for each pair that is not there yet: a verdict stands until a run of its sides, or a rule, changes.

    What is known of how much runs differ grows with each night, so `bench compare` may say more than a verdict of an earlier
    night did; `known` in the file, the runs of both configs that it rests on, lets the page say so.

    Args:
        warehouse: Where to look.
        folder: The site.
        pairs: From `chosen`.
        configs: Config of each run.
        digests: Of each run.
        logs: Quote what programs wrote of why a case failed.

    Returns:
        Names of the files by `base|candidate`.
    """
    rules = f"{FORMAT} {__version__} {'logs ' if logs else ''}{warehouse.rows('FROM _floor_rules')}"
    runs_of_config = Counter(configs.values())
    repeats: dict[str, list[str]] = defaultdict(list)
    query = "SELECT run_id, other_run_id FROM related_runs WHERE list_contains(?::VARCHAR[], run_id) ORDER BY ALL"
    for run, other in warehouse.rows(query, [list({run for pair in pairs for run in pair})]):
        repeats[run].append(f"{other} {digests.get(other)}")
    files = {}
    for base, candidate in pairs:
        said = [(run, digests.get(run), *repeats[run]) for run in (base, candidate)]
        key = hashlib.sha256(f"{rules} {said}".encode("utf-8", "replace")).hexdigest()[:32]
        found = folder.reused("pairs", key)
        if found is None:
            judged = judge(warehouse, base, candidate, logs=logs)
            if judged:
                judged["known"] = sum(runs_of_config[config] for config in {configs[base], configs[candidate]})
            found = folder.add(*script("pair", pack(judged))) if judged else ""
            folder.keep("pairs", key, found)
        if found:
            files[f"{base}|{candidate}"] = found.partition("/")[2].removesuffix(".js")
    return files


def judge(warehouse: "Warehouse", base: str, candidate: str, *, logs: bool) -> dict[str, Any] | None:
    """The comparison of two runs, with their repeats, as `bench compare` prints it; None where there is none.

    Without `logs` it says how cases failed, and not in what words of a program.
    """
    try:
        comparison = compare(warehouse, *find_sides(warehouse, base, candidate))
    except BenchError:  # such as two sides that repeat each other
        return None
    if not logs:
        comparison = replace(comparison, rows=[{**row, "reason": _without_quotes(row)} for row in comparison.rows])
    rows = render.shown(comparison, everything=True)
    columns, cells = render.render(comparison, rows)
    first = columns.index("metric")
    whys: dict[str, int] = {}
    texts: dict[str, int] = {}
    labels: dict[tuple[str | None, ...] | None, int] = {}
    lines = [
        [
            row["case_id"], *(cell and shortened(str(cell)) for cell in line[first:-1]),
            whys.setdefault(shortened(line[-1] or ""), len(whys)),
            labels.setdefault(_label(row), len(labels)),
            [texts.setdefault(_text(one), len(texts)) for one in (row, *row.get("unshown", ()))], _size(row),
        ]
        for row, line in zip(rows, cells, strict=True)
    ]  # fmt: skip
    return {
        "said": shortened(render.verdict(comparison)),
        "also": [shortened(text) for text in _sentences(comparison)],
        "shared": [shortened(text) for text in render.shared_reasons(comparison)],
        "sides": [len(side.runs) for side in (comparison.base, comparison.candidate)],
        "columns": [*map(list, zip(*lines, strict=True))],
        "whys": list(whys),
        "labels": list(labels),
        "texts": list(texts),
    }


def _without_quotes(row: Mapping[str, Any]) -> str:
    """The reason of a row whose end is how each side failed, without what programs wrote of it (`_ending_reason`)."""
    told: str = row["reason"]
    endings = [
        re.search(rf"(?:^|; )({side} {re.escape(status)}(?: in \d+ of \d+ runs)?)(?=: |; |$)", told)
        for side in ("base", "candidate")
        if (status := row[f"{side}_status"]) not in (None, "ok")
    ]
    before = told[: min((ending.start() for ending in endings if ending), default=len(told))]
    return "; ".join(filter(None, (before, *(ending[1] for ending in endings if ending))))


def _label(row: Mapping[str, Any]) -> tuple[str | None, ...] | None:
    """Metric and phase, for the query of a row; None of a case that left no number."""
    return tuple(row[name] and shortened(row[name]) for name in ("metric", "phase")) if row["metric"] else None


def _text(row: Mapping[str, Any]) -> str:
    """The text that a filter looks into, beside the axes of the case and the verdict."""
    return shortened(" ".join(row[name] for name in ("metric", "phase", "evidence", "reason") if row[name]))


def _sentences(comparison: Comparison) -> Iterator[str]:
    """The sentences below the table, without those that a page shows anyhow or that tell of machines."""
    yield from render.crossovers(comparison)
    yield from render.shifts(comparison)
    yield from comparison.captures
    yield from render.means(comparison)


def _size(row: Mapping[str, Any]) -> float | None:
    """The size of a change, for sorting; other columns are sorted by their texts."""
    ratio = row["ratio"]
    return round(abs(math.log(ratio)), 6) if ratio and ratio > 0 else None
