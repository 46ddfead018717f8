"""Both sides measured again, in turns, with the profilers: `bench why --measure`.

The runs have a config and a tag of their own, so that they are no repeats of those judged, and `latest` is none of them.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...warehouse.errors import BenchError
from ..comparison.sides import Side
from ..recorded_options import options_of
from ..regression.remeasure import case_options
from ..resolve import WHY

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

PROFILES = {"function": "--lines", "models": "--profile"}  # what records where time goes, by measuring command
SAME = {"lines": "function"}  # takes no revisions; the command that does, and measures the same
_RUNS = (
    "SELECT git_commit, coalesce(git_dirty, false), coalesce(json_extract_string(tags, '$.with'), '')"
    " FROM runs WHERE list_contains(?::VARCHAR[], run_id) ORDER BY run_id DESC"
)


def turns_command(warehouse: "Warehouse", sides: tuple[Side, Side], case: str | None) -> tuple[list[str], list[str]]:
    """The command that measures both sides in turns with the profilers, and the configs of its runs.

    Raises:
        BenchError: There is none, and why.
    """
    found = [_code_of(warehouse, side) for side in sides]
    options = options_of(warehouse, run_id := max(sides[1].runs))
    if isinstance(options, str):
        raise BenchError(f"there is nothing to measure again with a profiler: {options}")
    kind = SAME.get(options.command[-1], options.command[-1])
    if kind not in PROFILES:
        raise BenchError(
            f"{sides[1].name} was not measured by bench measure {' or '.join(PROFILES)}: there is nothing to measure"
            f" again with a profiler. It was measured by: {' '.join(options.command)}"
        )
    names, option = _names(sides, found)
    of_case = "SELECT DISTINCT case_id FROM cases WHERE run_id = ? AND name = ? ORDER BY 1"
    cases = [case_id for (case_id,) in warehouse.rows(of_case, [run_id, case])] if kind == "models" else []
    own = case_options(warehouse, run_id, cases, options) if cases else options.words("what", "how")
    if isinstance(own, str):
        raise BenchError(own)
    flag = [PROFILES[kind]] if PROFILES[kind] not in own else []
    chosen = ["--revisions", *names] if option == "--revisions" else [word for name in names for word in (option, name)]
    made = ["bench", "measure", kind, *own, *flag, *chosen, "--config", WHY, "--store", str(warehouse.store.root)]
    return made, [f"{WHY}@{name}" for name in names]


def _code_of(warehouse: "Warehouse", side: Side) -> tuple[str, bool, str]:
    """Commit, whether it was changed, and version of a package of a side, whose runs are all of the same code."""
    rows = warehouse.rows(_RUNS, [list(side.runs)])
    if len(set(rows)) != 1:
        raise BenchError(f"{side.name} is of several commits or versions of packages: name one run of it")
    commit, dirty, packages = rows[0]
    return commit or "", dirty, packages


def _names(sides: tuple[Side, Side], found: Sequence[tuple[str, bool, str]]) -> tuple[list[str], str]:
    """The commits of both sides, or their versions of packages, and the option that takes them.

    Raises:
        BenchError: They cannot be told apart so.
    """
    packages = [packages for _, _, packages in found]
    if all(packages) and packages[0] != packages[1]:
        return packages, "--with"
    reasons = [
        f"{side.name} was measured without a commit"
        if not commit
        else f"{side.name} was measured with changes that were not committed"
        for side, (commit, dirty, _) in zip(sides, found, strict=True)
        if not commit or dirty
    ]
    commits = [commit[:12] for commit, *_ in found]
    if not reasons and commits[0] == commits[1]:
        reasons.append(f"both sides are of commit {commits[0][:9]}")
    if reasons:
        raise BenchError(
            f"bench cannot bring both sides about again: {'; '.join(reasons)}. Measure each side yourself, as it was, with"
            f" {' or '.join(PROFILES.values())}; or commit both and compare the commits"
        )
    return commits, "--revisions"
