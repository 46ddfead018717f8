"""Both sides measured again, in turns, with the profilers: `bench why --measure`.

The runs have a config and a tag of their own, so that they are no repeats of those judged, and `latest` is none of them.
"""

import itertools
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...warehouse.errors import BenchError
from ..command_words import MANY, without_options
from ..comparison.sides import Side
from ..resolve import WHY

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

PROFILES = {"function": "--lines", "models": "--profile"}  # what records where time goes, by measuring command
# Options of the recorded command that do not count here, and how many values they have.
REPLACED = {
    "--config": 1, "--store": 1, "--tag": 1, "--format": 1, "--rounds": 1, "--commit": 1, "--revisions": MANY, "--with": 1,
    "--partition": 1, "--fleet": 1, "--baseline": 1, "--resume": 0,
}  # fmt: skip
_RUNS = (
    "SELECT git_commit, coalesce(git_dirty, false), coalesce(json_extract_string(tags, '$.with'), ''), coalesce(command, '')"
    " FROM runs WHERE list_contains(?::VARCHAR[], run_id) ORDER BY run_id DESC"
)


def turns_command(warehouse: "Warehouse", sides: tuple[Side, Side], case: str | None) -> tuple[list[str], list[str]]:
    """The command that measures both sides in turns with the profilers, and the configs of its runs.

    Raises:
        BenchError: There is none, and why.
    """
    found = [_told(warehouse, side) for side in sides]
    words = shlex.split(found[1][3])
    kind = next((after for word, after in itertools.pairwise(words) if word == "measure"), None)
    if kind not in PROFILES:
        raise BenchError(
            f"{sides[1].name} was not measured by bench measure {' or '.join(PROFILES)}: there is nothing to measure"
            f" again with a profiler. Its command: {shlex.join(words) or 'unknown'}"
        )
    names, option = _names(sides, found)
    own = [*without_options(words[words.index("measure") + 2 :], REPLACED)]
    narrowed = ["--models", case] if kind == "models" and case and "--models" not in own else []
    flag = [PROFILES[kind]] if PROFILES[kind] not in own else []
    chosen = ["--revisions", *names] if option == "--revisions" else [word for name in names for word in (option, name)]
    made = [
        "bench", "measure", kind, *own, *narrowed, *flag, *chosen,
        "--config", WHY, "--store", str(warehouse.store.root),
    ]  # fmt: skip
    return made, [f"{WHY}@{name}" for name in names]


def _told(warehouse: "Warehouse", side: Side) -> tuple[str, bool, str, str]:
    """Commit, whether it was changed, version of a package and command of a side, whose runs are all of the same code."""
    rows = warehouse.rows(_RUNS, [list(side.runs)])
    if len({row[:3] for row in rows}) != 1:
        raise BenchError(f"{side.name} is of several commits or versions of packages: name one run of it")
    commit, dirty, packages, command = rows[0]
    return commit or "", dirty, packages, command


def _names(sides: tuple[Side, Side], found: Sequence[tuple[str, bool, str, str]]) -> tuple[list[str], str]:
    """The commits of both sides, or their versions of packages, and the option that takes them.

    Raises:
        BenchError: They cannot be told apart so.
    """
    packages = [packages for _, _, packages, _ in found]
    if all(packages) and packages[0] != packages[1]:
        return packages, "--with"
    reasons = [
        f"{side.name} was measured without a commit"
        if not commit
        else f"{side.name} was measured with changes that were not committed"
        for side, (commit, dirty, _, _) in zip(sides, found, strict=True)
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
