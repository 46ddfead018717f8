"""Everyday tasks, typed as a new user would type them: in an empty folder, with files that other tools wrote."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .exhaustive import exhaustive, first_of
from .warm import Told, Warm

ROOT = Path(__file__).parents[1]


class Shell:
    """An empty folder to type commands in."""

    def __init__(self, folder: Path, warm: Warm) -> None:
        self.folder = folder
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("BENCH_")}
        self.environment |= {"PYTHONPATH": str(ROOT / ".types")}
        self.environment.pop("COLUMNS", None)
        self._warm = warm

    def __call__(self, *words: str, code: int = 0) -> str:
        """Type `bench WORDS` and return all it writes; its exit code must be `code`."""
        ended, out, err = self.python("bench", *words)
        assert ended == code, (words, ended, out, err)
        assert "Traceback" not in err
        return out + err

    def python(self, *words: str) -> Told:
        """Run a script in the folder."""
        return self._warm(*words, folder=self.folder, environment=self.environment)

    def write(self, name: str, text: str) -> None:
        """Write a file into the folder."""
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)


@pytest.fixture
def shell(tmp_path: Path, warm: Warm) -> Shell:
    return Shell(tmp_path, warm)


@pytest.fixture(scope="module")
def typist(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Shell:
    """A folder with a recorded run and functions to measure, for command lines that change nothing."""
    shell = Shell(tmp_path_factory.mktemp("typist"), warm)
    shell.write("own.py", SCRIPT)
    shell.write("work.py", "def fast(): pass\ndef slow(): pass\n")
    shell.python("own.py", "main", "1")
    return shell


def hyperfine(*commands: tuple[str, float]) -> str:
    results = [
        {"command": name, "mean": mean, "stddev": mean / 50, "median": mean, "user": 0.1, "system": 0.0, "min": mean,
         "max": mean * 1.05, "times": [mean * (1 + i / 500) for i in range(20)], "exit_codes": [0] * 20}
        for name, mean in commands
    ]  # fmt: skip
    return json.dumps({"results": results})


def nights(values: list[float]) -> str:
    rows = [f"2026-11-{day + 1:02},c{day:07x},attn,{value}" for day, value in enumerate(values)]
    return "\n".join(["date,sha,op,ms", *rows]) + "\n"


SCRIPT = """
import sys, bench
with bench.run(sys.argv[1]) as run:
    case = run.case("sort", batch_size=8)
    for i in range(20):
        case.timing(int(float(sys.argv[2]) * (1000000 + 1000 * (i % 5))))
"""


def test_show_me_the_numbers(shell: Shell) -> None:
    """After one command on a file of hyperfine the times are there, and one more gives them again."""
    shell.write("two.json", hyperfine(("sleep 0.1", 0.1), ("sleep 0.2", 0.2)))

    assert "sleep 0.1  101.9 ms" in shell("ingest", "two.json")
    assert "sleep 0.2  203.8 ms" in shell("show", "--sort", "-value")
    report = shell("report")
    assert "203.8 ms" in report and "eager" not in report


@exhaustive
def test_two_values_of_a_scan(shell: Shell) -> None:
    """By a column, in place; the commands hold the value."""
    commands = ((f"make -j {jobs}", 0.4 / jobs) for jobs in (1, 2))
    scan = json.loads(hyperfine(*commands))
    for result in scan["results"]:
        result["parameters"] = {"jobs": result["command"][-1]}
    shell.write("scan.json", json.dumps(scan))

    text = shell("compare", "1", "2", "--by", "jobs", "--runs", "scan.json")
    assert "make -j {jobs}" in text and "2.00x" in text


@exhaustive
def test_variants_taken_for_runs(shell: Shell) -> None:
    """The error holds the whole command that compares them."""
    rows = [f"bert,{variant},{value + i / 100}" for variant, value in (("old", 10), ("new", 8)) for i in range(8)]
    shell.write("results.csv", "\n".join(["model,variant,ms", *rows]) + "\n")
    shell("ingest", "results.csv", "--map", "name=model,parameters=variant,value=ms,unit:=ms")

    assert "The newest run has both as variant: bench compare old new --by variant" in shell(
        "compare", "old", "new", code=2
    )
    assert "1.25x" in shell("compare", "old", "new", "--by", "variant")


def test_which_of_two_files_is_faster(shell: Shell) -> None:
    """Both are read in place: the store is not touched. Named without their ending, they come with the command."""
    for name, mean in (("old", 0.1), ("new", 0.05)):
        shell.write(f"{name}.json", hyperfine(("work", mean)))
    text = shell("compare", "old.json", "new.json")

    assert "2.00x" in text and str(shell.folder) not in text
    assert not list(shell.folder.rglob("*.parquet"))
    shell("ingest", "old.json", "new.json")
    assert "Both are files here: bench compare old.json new.json" in shell("compare", "old", "new", code=2)


def test_own_script_in_eight_lines(shell: Shell) -> None:
    """Three runs of each side, and the verdict with its reason whole, in a pipe."""
    shell.write("own.py", SCRIPT)
    for turn in range(3):
        for config, factor in (("main", 1.0), ("fused", 0.8)):
            assert shell.python("own.py", config, str(factor + turn / 1000))[0] == 0
    text = shell("compare", "main", "fused", "--all-runs")

    assert " 1.2" in text and "FASTER" in text and "…" not in text and "3 against 3 runs" in text


def test_ten_nights_from_a_csv(shell: Shell) -> None:
    """History names the night; regressions ends with 1."""
    shell.write("nights.csv", nights([10.0, 10.05, 9.98, 10.02, 10.01, 9.99, 10.03, 12.0, 12.02, 11.98]))
    shell("ingest", "nights.csv", "--map", "name=op,value=ms,unit=ms,commit=sha,time=date")

    assert "2026-11-08" in shell("history", "attn")


@exhaustive
def test_parameters_that_all_rows_share_are_said_once(shell: Shell) -> None:
    """In histories, findings and results alike; the others stand in their rows."""
    rows = ["date,op,jobs,cc,ms"]
    for day in range(1, 13):
        for jobs in (1, 2):
            rows += [
                f"2026-11-{day:02},attn,{jobs},gcc,{(10 + call % 3 / 100) * (1.3 if day > 8 else 1)}"
                for call in range(6)
            ]
    shell.write("nights.csv", "\n".join(rows) + "\n")
    shell("ingest", "nights.csv", "--map", "name=op,value=ms,unit:=ms,time=date,parameters=jobs,parameters=cc")

    asked = ("history --members", "history --all", "show", "plan", "list cases --runs latest", "regressions")
    for words in asked:
        text = shell(*words.split(), code=1 if words == "regressions" else 0)
        assert text.count("gcc") == 1 and "cc gcc" in text, words
        assert "jobs" in text
    assert "cc gcc, metric latency" in shell("report")


@exhaustive
def test_the_log_of_a_scheduler_is_found_where_cases_are_looked_for(shell: Shell) -> None:
    """Lists and charts of cases say what shows its steps."""
    step = {"chunk_sizes": [1], "total_scheduled_tokens": 1, "model_run_duration_ms": 7.1}
    shell.write("A/steps.jsonl", "".join(json.dumps({"batch_id": i, "timestamp": i, **step}) + "\n" for i in range(50)))
    shell("ingest", "A")

    assert "are numbers of tokens, is not listed; see them with: bench show" in shell("list", "cases")
    (listed,) = json.loads(shell("list", "runs", "--format", "json"))
    assert (listed["steps"], listed["cases"]) == (50, 2)  # its one bin, and all steps
    assert "bench viz runtime-vs-tokens A" in shell("viz", "distribution", "A", code=3)


@exhaustive
def test_the_history_of_a_case_is_drawn_by_its_name(shell: Shell) -> None:
    """As `bench history CASE` does."""
    shell.write("two.json", hyperfine(("a", 0.1), ("b b", 0.2)))
    shell("ingest", "two.json")

    assert "History of b b" in shell("viz", "history", "b b")


@exhaustive
def test_what_sql_answers_becomes_a_file_by_its_ending(shell: Shell) -> None:
    """Parquet is Parquet, CSV is CSV."""
    shell.write("two.json", hyperfine(("a", 0.1), ("b", 0.2)))
    shell("ingest", "two.json")
    shell("sql", "SELECT name, median FROM cells WHERE metric = 'latency' ORDER BY name", "-o", "s.parquet")
    shell("sql", "SELECT name FROM cells WHERE metric = 'latency' ORDER BY name", "-o", "s.csv")
    shell("compare", "two.json", "two.json", "-o", "c.csv", code=2)

    assert (shell.folder / "s.parquet").read_bytes()[:4] == b"PAR1"
    assert (shell.folder / "s.csv").read_text() == "name\na\nb\n"


def test_what_is_piped_is_written_to_a_file_first(shell: Shell, typist: Shell) -> None:
    """A pipe, a name for one and no path at all come with the command to type."""
    os.mkfifo(shell.folder / "pipe")

    for words in (("ingest", "-"), ("ingest", "pipe"), ("compare", "pipe", "pipe")):
        assert "… > results.json && bench ingest results.json" in shell(*words, code=2)
    assert "Load files and folders with: bench ingest PATH" in typist("ingest")


@exhaustive
def test_undo_rename_and_redo(shell: Shell) -> None:
    """A wrong import is taken back, and nothing changes without --yes."""
    shell.write("two.json", hyperfine(("a", 0.1)))
    shell("ingest", "wrong:two.json")

    assert "nothing has changed" in shell("rename", "wrong", "right")
    shell("rename", "wrong", "right", "--yes")
    assert "right" in shell("list", "configs")
    shell("forget", "right", "--yes")
    assert "right" not in shell("list", "configs")
    shell("remember", "right")
    assert "right" in shell("list", "configs")


@pytest.mark.parametrize(
    ("words", "said"),
    first_of(7, [
        (("shwo",), "Nearest: 'show'"),
        (("diff", "a", "b"), "It is called compare here"), (("status",), "It is called show here"),
        (("ls",), "It is called list here"), (("ingest", "nothing.json"), "nothing.json"), (("show", "mian"), "Nearest: 'main'"),
        (("show", "sort"), "name of a case: --models"),
        (("compare", "--metrics", "latency", "main", "fused"), "--metrics took 'latency', 'main', 'fused'"),
        (("list", "runs", "--confg", "main"), "--config"), (("sql", "FROM speedup"), "speedups"),
        (("compare", "main"), "For example: bench compare main my-branch"),
        (("compare", "main", "onw.py"), "no run or file 'onw.py'. Nearest: 'own.py'."),
        (("show", "--config", "main"), "Runs and configs are named without one: bench show [RUN]..."),
        (("viz", "history", "srot"), "no config or case 'srot'. Nearest: 'sort'"),
        (("plan", "main", "fused"), "bench plan --configs main fused"), (("cost-model", "mian", "fused"), "Nearest: 'main'"),
        (("ingest", "own.py", "--map", "name=op,variant=kind,value=ms"), "is an axis: parameters=kind"),
        (("measure", "function", "work.py"), "Its functions: fast, slow."),
        (("measure", "function", "work.py:fsat"), "no function 'fsat' in work. Nearest: 'fast'"),
    ]),
)  # fmt: skip
def test_typos_are_understood(typist: Shell, words: tuple[str, ...], said: str) -> None:
    """In one sentence, with the nearest name."""
    assert said in typist(*words, code=2)


def test_the_project_says_which_store_and_floor(shell: Shell) -> None:
    """And `bench settings` why."""
    shell.write("pyproject.toml", '[tool.bench]\nstore = "results"\nfloor = "10%"\n')
    shell.write("sub/two.json", hyperfine(("a", 0.1)))
    shell("ingest", "sub/two.json")

    assert (shell.folder / "results" / "events").is_dir()
    assert "pyproject.toml" in shell("settings")


@exhaustive
def test_moving_verifying_and_copying_a_store(shell: Shell) -> None:
    """By the names of today and of before."""
    shell.write("own.py", SCRIPT)
    shell.python("own.py", "main", "1")
    shell("store", "sync", ".bench", "copy")

    assert "all is well" in shell("store", "verify", "--store", "copy")
    assert "all is well" in shell("verify", "--store", "copy")
    assert shell("show", "--store", "copy", "--format", "csv") == shell("show", "--format", "csv")


@exhaustive
def test_a_suite_of_tests_fails_where_it_became_slower(shell: Shell) -> None:
    """pytest-benchmark's fixture, without that plugin."""
    shell.write("test_own.py", "def test_sum(benchmark):\n    assert benchmark(sum, [1, 2]) == 3\n")
    options = (
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:benchmark",
        "-p",
        "no:cacheprovider",
        "--bench",
        "--bench-budget",
        "0.05",
    )
    done = subprocess.run(
        [sys.executable, *options, "test_own.py"],
        cwd=shell.folder, env=shell.environment, capture_output=True, text=True,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
    assert "test_own.py::test_sum" in shell("show")


def test_the_first_screen_is_short() -> None:
    """Purpose, one picture, three commands and the installation stand within the first 45 lines of the README."""
    first = "\n".join((ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:45])

    assert all(each in first for each in ("![", "pip install", "bench ingest", "bench show", "bench compare", "FASTER"))
    assert "UNSURE" not in first
