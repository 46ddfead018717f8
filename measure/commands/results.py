"""Files that measured commands write (`--results`): each call's files become runs of its side's config."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...warehouse.console.numbers import counted
from ...warehouse.errors import BenchError
from ...warehouse.recorder import uuid7
from ...warehouse.secrets import masked_parameters
from ...warehouse.store import Store
from ..engine.messages import first_line
from ..options import talk
from ..result_files import NoResult, ResultFiles
from ..turns_report import compare_sides
from .plan import Parameters, PlannedCommand, filled

if TYPE_CHECKING:
    from .measurement import CommandResult


@dataclass(slots=True)
class CallResults:
    """The runs that were loaded, by config; `labels` are the configs of sides, by name, parameters and revision."""

    files: ResultFiles
    config: str | None  # given by the user
    default: str  # config of a side that nothing tells from others
    by_name: bool  # whether the names of commands tell sides apart
    by_parameters: bool
    tags: Mapping[str, str]
    runs: dict[str, list[str]] = field(default_factory=dict)
    calls: str = field(default_factory=uuid7)  # tells that the runs are calls of one measurement

    def label(self, side: PlannedCommand, revision: str) -> str:
        """The config of a side: as `--config`, its name, its parameters and its revision, as far as they tell sides apart."""
        values = " ".join(f"{name}={value}" for name, value in masked_parameters(side.parameters).items())
        parts = self.config, side.name if self.by_name else "", values if self.by_parameters else "", revision
        return "@".join(filter(None, parts)) or self.default

    def clear(self, parameters: Parameters) -> None:
        """Before a call; placeholders stand in names of files, too."""
        self.files.clear([filled(pattern, parameters) for pattern in self.files.patterns])

    def written(self) -> tuple[list[Path], str]:
        """The files that a call wrote, and what is wrong with them, in words that follow "the command"."""
        try:
            return self.files.written(), ""
        except NoResult as error:
            return [], str(error)

    def load(self, files: Sequence[Path], side: PlannedCommand, revision: str) -> str:
        """Load what a call of a side wrote; returns why that cannot be, an empty text if it can."""
        config = self.label(side, revision)
        try:
            runs = self.files.load(files, config, tags={**self.tags, "calls": self.calls})
        except BenchError as error:
            return f"wrote what cannot be read: {_cause(str(error))}"
        self.runs.setdefault(config, []).extend(runs)
        return ""

    def by_side(self, results: "Sequence[CommandResult]") -> list[dict[str, list[str]]]:
        """The runs by config: for each side those of its revisions, or of all sides together where there are none."""
        found: dict[str, dict[str, list[str]]] = {}
        for result in results:
            side = self.label(result.side, "") if result.site.revision else ""
            config = self.label(result.side, result.site.revision)
            if config in self.runs:
                found.setdefault(side, {})[config] = self.runs[config]
        return [*found.values()]


def _cause(text: str) -> str:
    """An error of a load in a line: what it says first, and the `--map` that it proposes or else the next line."""
    first, *others = text.splitlines()
    proposed = next(
        (line.partition(" --map ")[2] for line in others if " --map " in line and "bench ingest" in line), ""
    )
    more = f"try --map {proposed}" if proposed else " ".join(others[:1]).strip()
    return first_line(f"{first.rstrip(':')}; {more}" if more else first)


def show_results(written: CallResults, results: "Sequence[CommandResult]", store: Store, fmt: str) -> None:
    """Compare the results of each side with the first's, or show those of a lone side; for programs say how to ask."""
    if not written.runs:
        talk("no results were loaded")
        return
    for config, ids in written.runs.items():
        talk(f"{config}: results of {counted(len(ids), 'call')}")
    if fmt not in ("table", "markdown"):
        talk(f"see them with: {shlex.join(['bench', 'show', *written.runs])}")
    elif len(written.runs) > 1:
        compare_sides(written.by_side(results), store, fmt)
    else:
        _show_newest(next(iter(written.runs.values())), store)


def _show_newest(runs: Sequence[str], store: Store) -> None:
    from ...query.contents.command import show_first
    from ...warehouse.database import Warehouse

    with Warehouse.open(store) as warehouse:
        show_first(warehouse, runs)
