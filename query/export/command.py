"""`bench export`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...warehouse.console.completion import complete
from ...warehouse.console.options import Choice, Command, notify, store_option
from ...warehouse.console.tables import write_rows
from ...warehouse.errors import BenchError, NothingToShow, UnknownName
from ...warehouse.files import cannot_write
from ...warehouse.old_names import today
from ...warehouse.store import Store
from ..resolve import resolve_runs
from .folders import FOLDER_TARGETS, folder_files
from .runs import Omitted, read_run
from .targets import TARGETS, text

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse

TABLES = ("csv", "parquet")
COLUMNS = (  # by which bench ingest knows such a table again
    "run", "commit", "branch", "host", "recorded_at", "name", "suite", "mode", "device", "dtype", "backend", "batch_size",
    "sequence_length", "parameters", "metric", "statistic", "phase", "unit", "better", "value", "loops", "status", "reason",
)  # fmt: skip
ROWS = f"""
    SELECT {", ".join(f'"{column}"' for column in COLUMNS)} FROM _exported WHERE list_contains(?::VARCHAR[], run_id)
    ORDER BY run_id, case_id, ending, metric, statistic, phase, sample, value
"""
LEFT = """
    SELECT
        count(*) FILTER (case_id IS NULL), count(*) FILTER (case_id IS NOT NULL AND NOT coalesce(abs(value) < 1e150, false)),
        (SELECT count(*) FROM case_outcomes WHERE kind <> 'performance' AND list_contains($runs::VARCHAR[], run_id)),
        (SELECT sum(steps)::BIGINT FROM run_summaries WHERE list_contains($runs::VARCHAR[], run_id))
    FROM samples WHERE list_contains($runs::VARCHAR[], run_id)
"""
NO_ROW = ("values of no case", "texts and values that are no number", "judgements of accuracy", "scheduler steps")


@click.command(cls=Command)
@click.argument("names", nargs=-1, metavar="[RUN | CONFIG]...", shell_complete=complete)
@click.option(
    "--format",
    "--as",
    "target",
    required=True,
    type=Choice([*TARGETS, *FOLDER_TARGETS, *TABLES]),
    help="What to write.",
)
@click.option("--metric", default="latency", show_default=True, help="The metric to write where a tool knows only one.")
@click.option("--all", "every", is_flag=True, help="All runs that the names mean, not the newest of each.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path),
    help="File to write to instead of standard output; for a format of several files, the folder to write them into.",
)  # fmt: skip
@store_option
def export(
    names: tuple[str, ...], target: str, metric: str, every: bool, output: Path | None, store: Store
) -> None:  # fmt: skip
    """Write runs as the files of other tools, for their comparers and pages.

    A name is a config, the beginning of a run id or of a commit, latest, latest~1; without one it is latest. What a format
    has no place for is counted on stderr.

    \b
        bench export main --as pytest-benchmark -o main.json
        bench export main --all --as github-action-benchmark -o data.js
        bench export latest --as csv -o results.csv
        bench export latest --as torch-compile-csv -o results/
    """
    from ...warehouse.database import Warehouse

    left = Omitted()
    with Warehouse.open(store) as warehouse:
        runs = [run for name in names or ("latest",) for run in resolve_runs(warehouse, name)[: None if every else 1]]
        runs = list(dict.fromkeys(runs))
        if target in TABLES:
            _write_table(warehouse, runs, target, output, left)
        elif target in FOLDER_TARGETS:
            _write_folder(warehouse, runs, target, output, left)
        else:
            _write_document(warehouse, runs, target, metric, output, left)
    for sentence in left.sentences():
        notify(f"no place in {target}: {sentence}")


def _write_document(
    warehouse: "Warehouse", runs: list[str], target: str, metric: str, output: Path | None, left: Omitted
) -> None:
    kind = TARGETS[target]
    if len(runs) > 1 and not kind.several:
        raise BenchError(f"a file of {target} is one run, and these are {len(runs)}. Export them one by one.")
    exported = [read_run(warehouse, run_id, left, places=kind.places) for run_id in runs]
    units = {key[0]: series.unit for run in exported for case in run.cases for key, series in case.series.items()}
    if metric not in units and today(metric, units):
        raise UnknownName("metric", metric, units, where="these runs")
    if kind.times and units.get(metric, "ns") != "ns":
        raise BenchError(f"{metric} is in {units[metric]}, and {target} compares times. Choose one with --metric.")
    count, document = kind.write(exported, metric, left)
    if not count:
        reasons = "; ".join(left.sentences()) or "no case was measured"
        cure = f" Metrics there are: {', '.join(sorted(units)[:20])}; choose with --metric." if units else ""
        raise NothingToShow(f"nothing of this can be written as {target}: {reasons}.{cure}")
    if output is None:
        click.echo(text(kind, document), nl=False)
        return
    try:
        output.write_text(text(kind, document), encoding="utf-8")
    except OSError as error:
        raise cannot_write(output, error) from error


def _write_folder(warehouse: "Warehouse", runs: list[str], target: str, folder: Path | None, left: Omitted) -> None:
    """Write the files of one run into a folder, which is made if it is not there."""
    if folder is None or folder.is_file():
        raise BenchError(f"{target} is several files. Name a folder for them: -o FOLDER")
    if len(runs) > 1:
        raise BenchError(f"a folder of {target} is one run, and these are {len(runs)}. Export them one by one.")
    files = folder_files(warehouse, runs[0], FOLDER_TARGETS[target], left)
    if not files:
        reasons = "; ".join(left.sentences()) or "no case of a model was measured"
        raise NothingToShow(f"nothing of this can be written as {target}: {reasons}.")
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise cannot_write(folder, error) from error
    notify(f"wrote {', '.join(files)} into {folder}")


def _write_table(warehouse: "Warehouse", runs: list[str], target: str, output: Path | None, left: Omitted) -> None:
    """One row a sample and one an ending, as they stream."""
    from ..ask import ask

    (counts,) = warehouse.rows(LEFT, {"runs": runs})
    for what, count in zip(NO_ROW, counts, strict=True):
        left.add(what, count or 0)
    rows = ask(warehouse, ROWS, [runs])
    assert rows is not None, "a SELECT gives rows"
    write_rows(rows.columns, rows.rows, target, output)
