"""The command line of charts, over a real store."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from bench.ingest.command import ingest_in_place
from bench.query.why.command import why
from bench.viz.command import CHARTS, viz
from bench.warehouse.errors import BenchError, Exit, NothingToShow, UnknownName
from bench.warehouse.recorder import run
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

from ..exhaustive import exhaustive
from ..generate_profiles import steps


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two configs that bench itself recorded."""
    folder = tmp_path_factory.mktemp("stores") / "store"
    for factor, config in enumerate(("A", "B"), start=1):
        with run(config, store=folder) as recording:
            for step in range(60):
                recording.schedule_chunk([step * 8 + 1], schedule_ms=0.1, model_run_ms=5 + step * factor, batch_id=step)
    return folder


def invoke(store: Path, *arguments: object) -> Result:
    """Run `bench viz runtime-vs-tokens`; errors are raised."""
    result = CliRunner().invoke(
        viz, ["runtime-vs-tokens", *map(str, arguments), "--store", str(store)], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return result


@exhaustive
def test_configs_are_given_the_natural_way(store: Path) -> None:
    """`--configs A B`, and the counts of each on standard error."""
    result = invoke(store, "--configs", "A", "B")

    assert result.stderr.splitlines() == [
        "A: read 60 · trimmed 20 · rejected 0 · filtered 0 · incomplete 0 · kept 40 · drawn 40",
        "B: read 60 · trimmed 20 · rejected 0 · filtered 0 · incomplete 0 · kept 40 · drawn 40",
    ]


@exhaustive
def test_configs_are_named_without_the_option_and_paths_are_read_in_place(store: Path, tmp_path: Path) -> None:
    """`A B`, a folder by its name, and a folder with a name of its own; what is no path and no config is an error."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        lines = map(json.dumps, steps(40, token_budget=256, seed=len(folder)))
        (tmp_path / folder / "profile_0.jsonl").write_text("\n".join(lines))

    assert invoke(store, "B", "--configs", "A").stderr.splitlines()[0].startswith("B: read 60")
    new = tmp_path / "store"
    drawn = invoke(new, tmp_path / "first", f"mine:{tmp_path / 'second'}")
    assert [line.split(":")[0] for line in drawn.stderr.splitlines()[-2:]] == ["first", "mine"]
    assert not new.exists()
    with pytest.raises(UnknownName, match="no config 'third'"):
        invoke(store, "third")


@pytest.mark.exhaustive
def test_a_path_means_the_runs_that_it_became(store: Path, tmp_path: Path) -> None:
    """Not all of its config; a name beside it means its newest run. Sides of movers may be paths, in an empty store, too."""
    for day, length in (("day-1", 30), ("day-2", 40)):
        (tmp_path / day).mkdir()
        lines = map(json.dumps, steps(length, token_budget=256, seed=length))
        (tmp_path / day / "profile_0.jsonl").write_text("\n".join(lines))
    one, two = (f"mine:{tmp_path / day}" for day in ("day-1", "day-2"))
    (tmp_path / "nothing").mkdir()
    new = tmp_path / "store"

    assert "mine: read 70" in invoke(tmp_path / "empty", one, two).stderr
    ingest_in_place(Store(new), [two])
    assert [line.split(" · ")[0] for line in invoke(new, one, "mine").stderr.splitlines()][-1] == "mine: read 70"
    assert "mine: read 30" in invoke(new, one).stderr
    assert "mine: read 40" in invoke(new, "mine").stderr

    with pytest.raises(BenchError, match="could not be read"):
        invoke(tmp_path / "none", tmp_path / "nothing")
    sides = [
        str(tmp_path / "day-1"),
        str(tmp_path / "day-2"),
        "--metric",
        "model_run",
        "--store",
        str(tmp_path / "new"),
    ]
    assert CliRunner().invoke(viz, ["movers", *sides], catch_exceptions=False).exit_code == 0


def test_without_a_file_the_chart_is_text_without_colour(store: Path) -> None:
    """Axes, legend and counts on standard output, nothing a log file could not hold."""
    picture = invoke(store).stdout

    assert "model run [ms]" in picture
    assert "scheduled tokens per step" in picture
    assert "o A  40 steps" in picture
    assert all(
        fact in picture for fact in ("120 lines read", "40 trimmed", "80 steps drawn")
    )  # the line breaks where it must
    assert "\x1b" not in picture


@exhaustive
def test_a_dash_is_standard_output(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in other programs; no file of that name comes into being."""
    monkeypatch.chdir(tmp_path)

    assert invoke(store, "-o", "-", "--format", "json").stdout == invoke(store, "--format", "json").stdout.rstrip("\n")
    assert not list(tmp_path.iterdir())


@exhaustive
def test_one_query_fills_many_files(store: Path, tmp_path: Path) -> None:
    """Every format in one go; each file is there, none is half written."""
    pytest.importorskip("vl_convert")
    names = [f"chart.{ending}" for ending in ("png", "svg", "pdf", "html", "json", "csv", "jsonl", "md", "parquet")]

    invoke(store, *(part for name in names for part in ("-o", tmp_path / name)))

    assert sorted(names) == sorted(file.name for file in tmp_path.iterdir())
    assert (tmp_path / "chart.csv").read_text().splitlines()[0].startswith("config,tokens,model_run_ms,batch_size")
    assert len((tmp_path / "chart.jsonl").read_text().splitlines()) == 80


@exhaustive
def test_a_theme_is_the_ground_of_images_and_pages(store: Path, tmp_path: Path) -> None:
    """White paper and the reader's own light or dark unless told otherwise."""
    pytest.importorskip("vl_convert")
    image = pytest.importorskip("PIL.Image")
    grounds = {}
    for theme in (None, "paper", "dark", "screen"):
        chosen = ["--theme", theme] if theme else []
        invoke(store, *chosen, "-o", tmp_path / "chart.png", "-o", tmp_path / "chart.html", "--ppi", "36")
        page = (tmp_path / "chart.html").read_text(encoding="utf-8")
        with image.open(tmp_path / "chart.png") as picture:
            grounds[theme] = picture.convert("RGBA").getpixel((0, 0)), page.split('data-look="')[1].split('"')[0]

    white = (255, 255, 255, 255)
    assert grounds[None] == (white, "screen") and grounds["paper"] == (white, "paper")
    assert grounds["dark"] == ((13, 17, 23, 255), "dark")
    assert grounds["screen"][0][3] == 0 and grounds["screen"][1] == "screen"


@pytest.mark.exhaustive
def test_a_device_stays_a_device_and_a_link_a_link(store: Path, tmp_path: Path) -> None:
    """`-o /dev/stdout` goes down the pipe; a link goes on pointing where it did."""
    command = f"{sys.executable} -m bench viz runtime-vs-tokens --store '{store}' --format csv -o /dev/stdout | cat"
    piped = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")

    invoke(store, "-o", tmp_path / "link.csv")

    assert len(piped.splitlines()) == 81
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text() == piped


@exhaustive
def test_a_full_disk_leaves_the_old_file(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the file and the cure, with the exit code of a full disk; what was there stays, and no half is left."""
    old = tmp_path / "chart.json"
    old.write_text("old")

    invoke(store, "-o", tmp_path / "first.json")  # loads the store, which writes as well
    (tmp_path / "first.json").unlink()

    def full(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)

    with pytest.raises(BenchError, match=r"cannot write .*chart.json: No space left.* Free some space") as error:
        invoke(store, "-o", old)
    assert error.value.exit_code == Exit.FULL
    assert [file.name for file in tmp_path.iterdir()] == ["chart.json"]
    assert old.read_text() == "old"


def test_explain_says_where_a_chart_comes_from(store: Path, tmp_path: Path) -> None:
    """Query, parameters and counts, out of the file alone."""
    invoke(store, "--configs", "B", "--trim", "5", "-o", tmp_path / "chart.json")

    told = CliRunner().invoke(viz, ["explain", str(tmp_path / "chart.json")]).stdout

    assert "bench viz runtime-vs-tokens" in told
    assert "trim=5" in told
    assert "B: read 60 · trimmed 10" in told
    assert "FROM runtime_vs_tokens(runs := ['" in told


def test_a_filter_is_switched_off_by_inf(store: Path, tmp_path: Path) -> None:
    """`inf` leaves nothing out, in the query and in the strict JSON of the file."""
    invoke(store, "--max-model-run-ms", "inf", "--max-schedule-ms", "inf", "-o", tmp_path / "chart.json")

    told = CliRunner().invoke(viz, ["explain", str(tmp_path / "chart.json")], catch_exceptions=False).stdout
    assert "max_model_run_ms := 'inf'::DOUBLE" in told


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["--configs", "AA"], UnknownName, "no config 'AA'"),
        (["--trim", "30"], NothingToShow, "--trim 0"),
        (["--max-model-run-ms", "1"], NothingToShow, "--max-model-run-ms"),
        (["-o", "chart.gif"], BenchError, "cannot tell the format"),
        (["-o", "no/such/folder/chart.png"], BenchError, "mkdir"),
    ],
)
def test_errors_say_what_to_do(store: Path, arguments: list[str], error: type[BenchError], message: str) -> None:
    """One sentence names the fault and the cure."""
    with pytest.raises(error, match=message):
        invoke(store, *arguments)


def test_the_list_has_a_command_for_each_chart() -> None:
    """One line each: name, use, and something to paste."""
    rows = [json.loads(line) for line in CliRunner().invoke(viz, ["list", "--format", "jsonl"]).stdout.splitlines()]

    assert {row["chart"]: row["use"] for row in rows} == CHARTS
    assert all(row["command"].startswith(f"bench viz {row['chart']}") for row in rows)


def test_help_imports_nothing_heavy() -> None:
    """`bench viz --help` is for people who wait for a prompt."""
    program = (
        "import sys; sys.argv = ['bench', 'viz', '--help']\n"
        "from bench.cli import cli\n"
        "try: cli(standalone_mode=False)\n"
        "finally: print({'duckdb', 'pyarrow', 'altair', 'numpy', 'vl_convert'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.endswith("set()\n")
    assert "runtime-vs-tokens" in done.stdout


@pytest.mark.parametrize("chart", ["why", "flame"])
def test_a_case_is_the_third_word_of_a_chart_too(chart: str) -> None:
    """It is named as `bench why A B CASE` names it, and no option names it besides."""
    command = viz.get_command(click.Context(viz), chart)

    assert command is not None
    words = [each.name for each in command.params if isinstance(each, click.Argument)]
    assert words == [each.name for each in why.params if isinstance(each, click.Argument)]
    assert "--case" not in {name for each in command.params for name in each.opts}


@exhaustive
def test_a_pipe_that_closes_early_is_no_error(store: Path) -> None:
    """`bench viz … | head -1` is fine."""
    command = f"{sys.executable} -m bench viz runtime-vs-tokens --store '{store}' | head -1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"}
    )

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
