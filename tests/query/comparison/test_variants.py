"""Variants inside runs: two values of a column are compared as two runs would be that measured one each."""

import csv
import functools
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.query.comparison.compare import compare
from bench.query.comparison.sides import find_sides
from bench.query.comparison.variants import said_of, variants
from bench.warehouse.database import Warehouse
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.recorder import run
from bench.warehouse.store import Store
from click.testing import CliRunner

from ...exhaustive import exhaustive, first_of, sampled

NAMES = ("mlp", "lstm")
JUDGED = (
    "ratio",
    "low",
    "high",
    "verdict",
    "reason",
    "base_value",
    "candidate_value",
    "base_n",
    "noise",
    "q",
    "detectable",
)
ODD = 'o\'d/d~ "key"'


@pytest.fixture(autouse=True)
def _no_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are recorded where no clean commit makes them repeats of one another."""
    monkeypatch.chdir(tmp_path)


def measure(root: Path, config: str, number: int, sides: dict[str, float], column: str | None = None) -> None:
    """A run of two models, ten samples each, once for each side, which is a time and a value of the column."""
    with run(config, store=root, run_id=f"{config}-{number}") as recorder:
        for side, factor in sides.items():
            axes: dict[str, Any] = {"suite": "s", "device": "cpu"}
            parameters: dict[str, Any] = {"kept": 1}
            if column in ("backend", "dtype", "batch_size"):
                axes[column] = int(side) if column == "batch_size" else side
            elif column:
                parameters[column] = int(side) if side.isdigit() else side
            for place, name in enumerate(NAMES, 1):
                case = recorder.case(name, parameters=parameters, **axes)
                for block in range(10):
                    duration = (1_000_000 + 1_000 * block + 1_500 * number) * factor * place
                    case.timing(int(duration), details={"block": block})
                case.outcome("ok" if factor < 9 else "OOM")


def judged(warehouse: Warehouse, *sides: Any) -> list[dict[str, Any]]:
    return [{column: row[column] for column in ("name", *JUDGED)} for row in compare(warehouse, *sides).rows]


SIDES = {"1": 1.0, "2": 1.25, "4": 1.25}


@pytest.fixture(scope="module")
def as_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], list[list[dict[str, Any]]]]:
    """The verdicts of so many runs that measured one value each."""

    @functools.cache
    def judge(runs: int) -> list[list[dict[str, Any]]]:
        apart = tmp_path_factory.mktemp("apart")
        for number in range(runs):
            for side, factor in SIDES.items():
                measure(apart, f"c{side}", number, {side: factor})
        with Warehouse.open(Store(apart)) as warehouse:
            return [judged(warehouse, *find_sides(warehouse, "c1", other, all_runs=True)) for other in ("c2", "c4")]

    return judge


@pytest.mark.parametrize(
    ("runs", "column"),
    sampled(
        [(runs, column) for runs in (1, 3) for column in ("backend", "dtype", "batch_size", "threads", ODD)],
        (1, ODD),
    ),
)  # fmt: skip
def test_values_of_a_column_are_compared_as_runs_are(
    runs: int, column: str, as_runs: Callable[[int], list[list[dict[str, Any]]]], tmp_path: Path
) -> None:
    """Same ratios, intervals, verdicts and reasons as of runs that measured one value each and lack the column."""
    expected = as_runs(runs)
    for number in range(runs):
        measure(tmp_path / "within", "main", number, SIDES, column)
    with Warehouse.open(Store(tmp_path / "within")) as warehouse:
        for other, rows in zip("24", expected, strict=True):
            with variants(warehouse, column, ("1", other), ["main"], all_runs=True) as found:
                assert [len(side.runs) for side in found] == [runs, runs]
                assert len(rows) == 2 and judged(warehouse, *found) == rows
                assert [round(1 / row["ratio"], 2) for row in rows] == [1.25, 1.25]
                assert "from the same runs" in str(said_of(*found))
        assert warehouse.rows("SELECT count(*) FROM run_summaries") == [(runs,)]


@pytest.mark.exhaustive
def test_earlier_runs_of_the_config_tell_how_runs_vary(tmp_path: Path) -> None:
    """The newest run alone is compared, with the noise of five earlier ones: no spread of sessions is assumed."""
    for number in range(6):
        measure(tmp_path, "main", number, {"a": 1, "b": 1.25}, "backend")
    with Warehouse.open(Store(tmp_path)) as warehouse, variants(warehouse, "backend", ("a", "b")) as found:
        assert found[0].runs == ("main-5/a",)
        assert {row["verdict"] for row in judged(warehouse, *found)} == {"SLOWER"}


@exhaustive
def test_sides_of_several_runs(tmp_path: Path) -> None:
    """A value may be of another run than its opposite: then nothing is shared."""
    measure(tmp_path, "one", 0, {"a": 1, "c": 5}, "backend")
    measure(tmp_path, "two", 0, {"b": 2}, "backend")
    with Warehouse.open(Store(tmp_path)) as warehouse:
        with variants(warehouse, "backend", ("a", "b"), ["one", "two"]) as found:
            assert [side.runs for side in found] == [("one-0/a",), ("two-0/b",)] and said_of(*found) is None
            assert [round(row["ratio"], 2) for row in judged(warehouse, *found)] == [0.5, 0.5]
        with pytest.raises(UnknownName, match="no backend 'b' in the cases of one"):
            variants(warehouse, "backend", ("a", "b"), ["one"]).__enter__()


@exhaustive
def test_a_value_that_fails_is_broken(tmp_path: Path) -> None:
    """Outcomes are split as numbers are."""
    measure(tmp_path, "main", 0, {"a": 1, "b": 9}, "backend")
    with Warehouse.open(Store(tmp_path)) as warehouse, variants(warehouse, "backend", ("a", "b")) as found:
        assert {row["verdict"] for row in judged(warehouse, *found)} == {"BROKEN"}


@pytest.mark.parametrize(
    ("column", "values", "said"),
    first_of(
        1,
        [
            ("bakend", ("eager", "liger"), "no column 'bakend' in the cases of latest. Nearest: 'backend'."),
            ("backend", ("eager", "ligar"), "no backend 'ligar' in the cases of latest. Nearest: 'liger'."),
            ("dtype", ("eager", "liger"), "no dtype 'eager' in the cases of latest."),
            ("backend", ("eager", "eager"), "both sides are 'eager': name two values of backend"),
            ("'; DROP TABLE runs; --", ("eager", "liger"), "no column"),
        ],
    ),
)
def test_what_is_not_there_is_said(column: str, values: tuple[str, str], said: str, tmp_path: Path) -> None:
    """Unknown columns and values with the nearest that there are; one value twice."""
    measure(tmp_path, "main", 0, {"eager": 1, "liger": 2}, "backend")
    with (
        Warehouse.open(Store(tmp_path)) as warehouse,
        pytest.raises(BenchError, match=re.escape(said)),
    ):
        variants(warehouse, column, values).__enter__()


KERNELS = "kernel,provider,size,ms\n" + "".join(
    f"softmax,{provider},{size},{ms}\n"
    for provider, size, ms in (("torch", 512, 0.03), ("fused", 512, 0.02), ("torch", 2048, 0.09), ("fused", 2048, 0.05))
)


def asked(*arguments: str) -> tuple[list[dict[str, str]], str]:
    """The rows of `bench compare … --format csv`, and what it says beside them."""
    result = CliRunner().invoke(cli, ["compare", *arguments, "--format", "csv"])
    assert result.exit_code == 0, result.output
    return list(csv.DictReader(io.StringIO(result.stdout))), result.stderr


def test_alternatives_of_a_table() -> None:
    """A column of providers: each size is compared with the same size of the other; no store changes."""
    Path("kernels.csv").write_text(KERNELS)
    mapping = ["--map", "name=kernel,backend=provider,parameters=size,value=ms,unit:=ms"]
    assert CliRunner().invoke(cli, ["ingest", *mapping, "kernels.csv"]).exit_code == 0
    before = {path: path.read_bytes() for path in Path(".bench").rglob("*") if path.is_file()}
    rows, _ = asked("torch", "fused", "--by", "backend")
    assert {json.loads(row["parameters"])["size"]: round(float(row["ratio"]), 3) for row in rows} == {
        512: 1.5,
        2048: 1.8,
    }
    rows, _ = asked("512", "2048", "--by", "size", "--where", "backend=torch")
    assert [float(row["ratio"]) for row in rows] == [pytest.approx(1 / 3)]
    assert before == {path: path.read_bytes() for path in Path(".bench").rglob("*") if path.is_file()}


@exhaustive
def test_from_which_size_on_an_alternative_is_faster() -> None:
    """In a sentence for each sweep, which names what parts them; none where it is faster throughout."""
    rows = [
        f"{kernel},{provider},{size},{size * (1 if provider == 'torch' else (cross / size) ** 0.5):.6f}"
        for kernel, cross in (("softmax", 48), ("rope", 480), ("copy", 1))
        for size in (16, 32, 64, 128, 256, 512, 1024)
        for provider in ("torch", "liger")
    ]
    Path("k.csv").write_text("\n".join(["kernel,provider,size,ms", *rows]))
    CliRunner().invoke(
        cli, ["ingest", "k.csv", "--map", "name=kernel,backend=provider,parameters=size,value=ms,unit=ms"]
    )

    def crossings(*arguments: str) -> list[str]:
        result = CliRunner().invoke(cli, ["compare", *arguments, "--by", "backend"])
        return [line for line in result.stderr.splitlines() if " size " in line]

    assert crossings("torch", "liger") == [
        "liger is faster from size 480 on (95 % 256–1,024): rope", "liger is faster from size 48 on (95 % 32–64): softmax",
    ]  # fmt: skip
    assert crossings("liger", "torch", "--models", "rope") == ["torch is faster up to size 480 (95 % 256–1,024)"]


@exhaustive
def test_cases_of_one_run_tell_together_what_none_tells_by_itself() -> None:
    """Twelve that are 7 % faster each, in the first sentence; two are too few, and two runs may differ as a whole."""
    rows = [
        f"m{number},{backend},{ms * (1 + 0.01 * (number * 7 % 3 - 1)):.6f}"
        for number in range(12) for backend, ms in (("a", 10.7), ("b", 10.0))
    ]  # fmt: skip
    Path("t.csv").write_text("\n".join(["model,backend,ms", *rows]))
    for side in "ab":
        own = [row.replace(f",{side},", ",") for row in rows if f",{side}," in row]
        Path(f"{side}.csv").write_text("\n".join(["model,ms", *own]))
        CliRunner().invoke(cli, ["ingest", f"{side}:{side}.csv", "--map", "name=model,value=ms,unit=ms"])
    CliRunner().invoke(cli, ["ingest", "t.csv", "--map", "name=model,backend=backend,value=ms,unit=ms"])

    def first(*arguments: str) -> str:
        lines = CliRunner().invoke(cli, ["compare", "a", "b", *arguments]).stderr.splitlines()
        return next(line for line in lines if line.endswith(" unsure"))

    told = "no case is sure by itself, but all together: latency 1.07x faster (95 % 1.03–1.11) over 12 cases; "
    assert first("--by", "backend").startswith(told)
    assert first("--by", "backend", "--models", "m1", "m2").startswith("no change found; ")
    assert first().startswith("no change found; ")


@pytest.mark.exhaustive
def test_two_commands_of_one_file_read_in_place() -> None:
    """Hyperfine's two commands, of a file that no store holds."""
    results = [
        {"command": command, "times": [seconds * (1 + i / 1000) for i in range(10)], "exit_codes": [0] * 10}
        for command, seconds in (("find -name 'a'", 0.3), ("fd a", 0.1))
    ]
    Path("two.json").write_text(json.dumps({"results": results}))
    rows, said = asked("find -name 'a'", "fd a", "--by", "name", "--runs", "two.json", "--metrics", "latency")
    assert [(row["name"], round(float(row["ratio"]), 3), row["verdict"]) for row in rows] == [
        ("find -name 'a' → fd a", 3, "FASTER")
    ]
    assert "both sides come from the same runs" in said and not Path(".bench").exists()


@pytest.mark.exhaustive
def test_a_parameter_that_the_names_hold_and_one_called_as_an_axis() -> None:
    """As hyperfine's scans do: the commands differ by the value, and a parameter may be called `mode`."""
    results = [
        {"command": f"make -j {jobs} {mode}", "parameters": {"jobs": str(jobs), "mode": mode},
         "times": [0.5 / jobs * (1 + i / 1000) for i in range(10)], "exit_codes": [0] * 10}
        for jobs in (1, 4) for mode in ("debug", "release")
    ]  # fmt: skip
    Path("scan.json").write_text(json.dumps({"results": results}))
    options = ("--runs", "scan.json", "--metrics", "latency")
    rows, _ = asked("1", "4", "--by", "jobs", *options)
    assert [(row["name"], round(float(row["ratio"]))) for row in rows] == [
        ("make -j {jobs} debug", 4), ("make -j {jobs} release", 4),
    ]  # fmt: skip
    rows, _ = asked("debug", "release", "--by", "mode", *options, "--all")
    assert [(row["name"], float(row["ratio"])) for row in rows] == [("make -j 1 {mode}", 1), ("make -j 4 {mode}", 1)]


def test_options_that_do_not_go_together() -> None:
    """--runs without --by, and --slo with it."""
    for arguments, said in (
        (["--runs", "x"], "--runs works only with --by"),
        (["--by", "name", "--slo", "ttft=1"], "--slo compares"),
    ):
        result = CliRunner().invoke(cli, ["compare", "a", "b", *arguments])
        assert said in str(result.exception)


@pytest.mark.exhaustive
def test_what_goes_with_a_value_is_no_other_case(tmp_path: Path) -> None:
    """Two tools with a level each: their parameters and data types differ on every case, and are named, not matched."""
    for number, level in ((1, 9), (2, 3)):  # another level before is no past of these cases
        with run("main", store=tmp_path, run_id=f"main-{number}") as recorder:
            for name, dtype, own in (("gzip", "a", {"level": 1, "x": 1}), ("zstd", "b", {"level": level})):
                for threads in (1, 2):
                    case = recorder.case(name, dtype=dtype, parameters={**own, "threads": threads})
                    for block in range(10):
                        case.timing((1_000_000 + 1_000 * block) * level * threads, details={"block": block})
    said: list[str] = []
    with (
        Warehouse.open(Store(tmp_path)) as warehouse,
        variants(warehouse, "name", ("gzip", "zstd"), ["main-2"], notify=said.append) as found,
    ):
        rows = compare(warehouse, *found).rows
        split = warehouse.rows("SELECT count(DISTINCT case_id) FROM cases WHERE run_id = 'main-1/zstd'")

    assert [("gzip → zstd", f'{{"threads":{threads}}}') for threads in (1, 2)] == [
        (row["name"], row["parameters"]) for row in rows if row["metric"] == "latency"
    ]
    assert said == ["gzip and zstd differ in more than name: level (1, 3); x (1, None); dtype (a, b)"]
    assert split == [(2,)] and all(row["base_value"] for row in rows)


@pytest.mark.exhaustive
def test_what_is_the_same_on_some_case_stays(tmp_path: Path) -> None:
    """If a case has both values, the others are ADDED and REMOVED, as between runs."""
    with run("main", store=tmp_path, run_id="main") as recorder:
        for backend, batch in (("a", 1), ("b", 1), ("b", 8)):
            recorder.case("mlp", backend=backend, batch_size=batch).timing(1_000_000)
    said: list[str] = []
    with (
        Warehouse.open(Store(tmp_path)) as warehouse,
        variants(warehouse, "backend", ("a", "b"), notify=said.append) as found,
    ):
        rows = compare(warehouse, *found).rows

    assert not said and {row["batch_size"]: row["verdict"] for row in rows} == {1: "UNSURE", 8: "ADDED"}
