"""The options that a run was measured with, from its rows of `run_options`, as words of a command that measures it again."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..warehouse.console.options import option_words
from ..warehouse.secrets import MASK
from .axes import AXES

if TYPE_CHECKING:
    from ..warehouse.database import Warehouse

_RUN = "SELECT min(source), min(config), coalesce(min(command), '') FROM runs WHERE run_id = ?"
_OPTIONS = "SELECT role, option, arguments::VARCHAR FROM run_options WHERE run_id = ? ORDER BY position"


@dataclass(frozen=True, slots=True)
class RecordedOptions:
    """The options of a run."""

    config: str
    line: str  # the command line, for people
    command: tuple[str, ...]  # ("measure", "models"), or ("pytest",)
    rows: tuple[tuple[str, str | None, list[str]], ...]  # role, name and values of each

    def words(self, *roles: str, only: Collection[str] = ()) -> list[str]:
        """The words of the options of some roles, in the order of the command; `only` those of these names."""
        return [
            word
            for role, option, texts in self.rows
            if role in roles and (not only or option in only)
            for word in (texts if option is None else option_words(option, texts))
        ]

    def axes(self) -> dict[str, list[str]]:
        """The columns of a case by which the command chooses what it measures, and the options that take their values."""
        found: dict[str, list[str]] = {}
        for role, option, texts in self.rows:
            if role == "axis" and option and texts[0] in AXES:
                found.setdefault(texts[0], []).append(option)
        return found


def options_of(warehouse: "Warehouse", run_id: str) -> RecordedOptions | str:
    """The options of a run; or, as a sentence, why it has none by which it could be measured again."""
    ((source, config, command),) = warehouse.rows(_RUN, [run_id])
    if source != "measure":
        return f"run {run_id[:13]} was measured by {source}, not by bench: measure it again there and ingest the result"
    rows = [(role, option, json.loads(texts)) for role, option, texts in warehouse.rows(_OPTIONS, [run_id])]
    if not rows:
        return f"run {run_id[:13]} keeps no options to measure it again by, as runs of older versions: {command}"
    if any(MASK in text for _, _, texts in rows for text in texts):
        return f"an option of run {run_id[:13]} is a secret, which is not stored: {command}"
    return RecordedOptions(config, command, tuple(rows[0][2]), tuple(rows[1:]))
