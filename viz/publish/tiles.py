"""Every value of a store in tiles: some runs × some cases each, so that a page of a case reads few files, and one of a run too.

A new night changes the tiles of the newest runs only: runs stand in order of time, and a block of them ends where the id of a
run says so, whatever else there is (as rsync finds blocks of a file). A case is in the group that its id says.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .folder import SiteFolder
from .payload import pressed, script
from .private import ENDING, LOG, log, shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ...warehouse.database import Warehouse

KEPT = "_is_warm(phase) AND _is_headline(metric, better) AND metric IS NOT NULL"  # the values that comparisons judge
FORMAT = 2  # of a tile: those of another are made anew
_ENDS_IN = 24  # a block ends at one run in so many
_MOST_RUNS = 64  # of a block
_VALUES = 3000  # of a tile, at least

Label = tuple[str, str | None, str | None]  # metric, phase, unit


@dataclass(frozen=True, slots=True)
class Tiles:
    """The division of runs and cases, and the files."""

    blocks: Sequence[Sequence[str]]  # runs
    groups: int
    files: Sequence[Sequence[str]]  # of each block, by group; "" without any value

    def of_page(self) -> dict[str, Any]:
        """The index as the page wants it: how many runs each block has, and its files."""
        names = [[name.partition("/")[2].removesuffix(".js") for name in files] for files in self.files]
        return {
            "groups": self.groups,
            "blocks": [[len(runs), *own] for runs, own in zip(self.blocks, names, strict=True)],
        }


def divide(runs: Sequence[str]) -> list[list[str]]:
    """Runs in order of time as blocks."""
    blocks: list[list[str]] = [[]]
    for run in runs:
        blocks[-1].append(run)
        if zlib.crc32(run.encode("utf-8", "replace")) % _ENDS_IN == 0 or len(blocks[-1]) == _MOST_RUNS:
            blocks.append([])
    return [block for block in blocks if block]


def group_of(case_id: str, groups: int) -> int:
    """The group of a case."""
    return zlib.crc32(case_id.encode("utf-8", "replace")) % groups


def write(
    warehouse: "Warehouse", folder: SiteFolder, runs: Sequence[str], cases: Sequence[str], values: int,
    digests: Mapping[str, str], *, logs: bool = False,
) -> Tiles:  # fmt: skip
    """Write the tiles of runs in order of time; those of blocks whose runs are as they were stay as they are.

    `values` is how many there are. With `logs` a case that failed has the end of what its program wrote.
    """
    blocks = divide(runs)
    groups = 1
    while groups * 2 * _VALUES * max(1, len(blocks)) <= values:
        groups *= 2
    _places(warehouse, runs, cases, groups)
    files, first = [], 0
    for block in blocks:
        key = f"{FORMAT}:{groups}:{'logs:' if logs else ''}{','.join(digests.get(run, '') for run in block)}"
        found = folder.reused("tiles", key)
        if found is None:
            found = [
                folder.add(*script("tile", tile)) if tile else ""
                for tile in _tiles(warehouse, first, block, cases, groups, logs)
            ]
            folder.keep("tiles", key, found)
        files.append(found)
        first += len(block)
    return Tiles(blocks, groups, files)


def _places(warehouse: "Warehouse", runs: Sequence[str], cases: Sequence[str], groups: int) -> None:
    """Temporary tables that number runs and cases."""
    import pyarrow as pa

    connection = warehouse.connection
    tables = {
        "site_runs": {"run_id": pa.array(runs, pa.string()), "run_place": pa.array(range(len(runs)), pa.int32())},
        "site_cases": {
            "case_id": pa.array(cases, pa.string()), "case_place": pa.array(range(len(cases)), pa.int32()),
            "case_group": pa.array([group_of(case, groups) for case in cases], pa.int32()),
        },
    }  # fmt: skip
    for name, columns in tables.items():
        connection.register("given", pa.table(columns))
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS FROM given")
        connection.unregister("given")


def _tiles(
    warehouse: "Warehouse", first: int, block: Sequence[str], cases: Sequence[str], groups: int, logs: bool
) -> list[bytes]:
    """The tiles of a block by group, packed; empty where there is nothing. `first` is the place of its first run."""
    import numpy as np

    labels, columns = _columns(warehouse, first, block)
    endings = _endings(warehouse, first, block, logs)
    group = np.asarray([group_of(case, groups) for case in cases], dtype=np.int32)
    of_value = group[columns["case_place"]]
    tiles = []
    for number in range(groups):
        here = {name: column[of_value == number] for name, column in columns.items()}
        ended = [row for row in endings if group[row[0]] == number]
        tiles.append(_tile(here, labels, cases, len(block), ended) if len(here["case_place"]) or ended else b"")
    return tiles


def _columns(warehouse: "Warehouse", first: int, block: Sequence[str]) -> "tuple[list[Label], dict[str, NDArray[Any]]]":
    """The values of a block as columns of numbers, and what their `label` counts."""
    import numpy as np

    label = (
        "_series_key(NULL, metric, phase, unit) AS label"  # to tell labels apart by a number takes a tenth of the time
    )
    columns = f"case_place, metric, phase, unit, {label}, run_place, median, median_low, median_high, n"
    source = "_all_cells SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS run_id) USING (run_id)"
    joined = f"{source} JOIN site_runs USING (run_id) JOIN site_cases USING (case_id)"
    table = warehouse.connection.sql(
        f"SELECT {columns} FROM {joined} WHERE {KEPT}"
        " ORDER BY case_place, metric, phase NULLS FIRST, unit NULLS FIRST, run_place",
        params=[list(block)],
    ).to_arrow_table()
    _, firsts, labelled = np.unique(table.column("label").to_numpy(), return_index=True, return_inverse=True)
    named = [tuple(table.column(name)[row].as_py() for name in ("metric", "phase", "unit")) for row in firsts.tolist()]
    labels = sorted(named, key=str)
    found: dict[str, NDArray[Any]] = {
        name: np.asarray(table.column(name).to_numpy(zero_copy_only=False), dtype=np.float64)
        for name in ("median", "median_low", "median_high", "n")
    }
    for name in ("case_place", "run_place"):
        found[name] = np.asarray(table.column(name).to_numpy(), dtype=np.int64)
    found["run_place"] -= first
    found["label"] = np.asarray([labels.index(name) for name in named], dtype=np.int64)[labelled]
    return labels, found


def _endings(warehouse: "Warehouse", first: int, block: Sequence[str], logs: bool) -> list[list[Any]]:
    """Endings of failed cases: the place of the case, of the run, and what may be said of it; with `logs` its log."""
    rows = warehouse.rows(
        f"SELECT case_place, run_place, {', '.join((*ENDING, *LOG))}"
        " FROM case_outcomes JOIN site_runs USING (run_id) JOIN site_cases USING (case_id)"
        " WHERE failed AND list_contains(?::VARCHAR[], run_id) ORDER BY case_place, run_place, kind DESC",
        [list(block)],
    )
    found: dict[tuple[int, int], list[Any]] = {}
    for case, run, *told in rows:
        own = [written] if logs and (written := log(told[len(ENDING) :])) else []
        found.setdefault((case, run), [case, run - first, _ended(*told[: len(ENDING)]), *own])
    return list(found.values())


def _ended(status: str, phase: str | None, exception: str | None, exit_code: int | None) -> str:
    """The columns of ENDING in words: `fail_to_run in compile: RuntimeError, exit code 1`."""
    how = ", ".join(filter(None, (exception, None if exit_code is None else f"exit code {exit_code}")))
    return shortened(f"{status}{f' in {phase}' if phase else ''}{f': {how}' if how else ''}")


def _tile(
    columns: "Mapping[str, NDArray[Any]]",
    labels: Sequence[Label],
    cases: Sequence[str],
    runs: int,
    ended: Sequence[Sequence[Any]],
) -> bytes:
    """A header and matrices, a row a series and a column a run: the values, and where there are any, intervals and counts."""
    import numpy as np

    series = np.stack([columns["case_place"], columns["label"]], axis=1)
    rows, place = np.unique(series, axis=0, return_inverse=True)
    own = sorted({*rows[:, 0].tolist(), *(row[0] for row in ended)})
    numbers = {case: number for number, case in enumerate(own)}
    used = sorted(set(rows[:, 1].tolist()))
    header: dict[str, Any] = {
        "cases": [cases[case] for case in own],
        "labels": [[part and shortened(part) for part in labels[label]] for label in used],
        "series": [[numbers[case], used.index(label)] for case, label in rows.tolist()],
        "runs": runs,
        "ended": [[numbers[case], *rest] for case, *rest in ended],
        "more": [],
    }
    matrices = [_matrix(columns["median"], place, columns["run_place"], (len(rows), runs)).tobytes()]
    for name, is_there in (
        ("median_low", ~np.isnan(columns["median_low"])), ("median_high", ~np.isnan(columns["median_high"])),
        ("n", columns["n"] != 1),
    ):  # fmt: skip
        if is_there.any():
            header["more"].append(name)
            own_matrix = _matrix(columns[name], place, columns["run_place"], (len(rows), runs))
            matrices.append(own_matrix.astype("<f4").tobytes())
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    text += b" " * (-(len(text) + 4) % 8)  # numbers begin where a browser can read them in place
    return pressed(len(text).to_bytes(4, "little") + text + b"".join(matrices))


def _matrix(
    values: "NDArray[Any]", rows: "NDArray[Any]", columns: "NDArray[Any]", shape: tuple[int, int]
) -> "NDArray[np.float64]":
    import numpy as np

    matrix = np.full(shape, np.nan, dtype="<f8")
    matrix[rows.ravel(), columns] = values
    return matrix
