"""Facts of runs that their files lack: `--set KEY=VALUE`."""

from collections.abc import Iterable
from typing import Any

from ..warehouse.errors import BenchError, UnknownName
from .readers.document import instant

FACTS = {  # what a user may say of runs -> column
    "commit": "git_commit", "branch": "git_branch", "host": "host", "suite": "suite", "time": "started_at", "command": "command",
}  # fmt: skip


def parse_facts(pairs: Iterable[str]) -> dict[str, Any]:
    """The facts of `--set KEY=VALUE`, as columns of `runs`.

    Raises:
        BenchError: There is no such key, or the value is no time.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if key not in FACTS:
            raise UnknownName(
                "fact", key, FACTS, cure=f"Facts: {', '.join(FACTS)}. A label of your own: --tag {key}=VALUE"
            )
        if not equals or not value.strip():
            raise BenchError(f"--set {pair} has no value. Write --set {key}=VALUE")
        found[FACTS[key]] = value.strip()
    if "started_at" in found:
        if (moment := instant(found["started_at"])) is None:
            raise BenchError(
                f"--set time={found['started_at']} cannot be read as a time. Write it as 2026-05-01T10:00:00Z"
            )
        found["started_at"] = moment
    return found
