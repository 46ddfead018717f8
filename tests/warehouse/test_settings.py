"""Settings of a project: what holds, where it comes from, and what is refused."""

import json
from pathlib import Path

import bench
import pytest
from bench.cli import cli
from bench.warehouse.errors import BenchError, UnknownName
from bench.warehouse.settings import SETTINGS, find_setting, floor_of, setting
from bench.warehouse.store import Store
from click.testing import CliRunner

EVERY = """
[tool.bench]
store = "kept"
config = "nightly"
floor = "5%"
metrics = ["latency", "rss_peak"]
headline = "minimum"
mappings = "maps"
floors = [{ metric = "rss_*", floor = 0.01 }, { case = "io/*", floor = "10%" }]
tags = { team = "kernels", year = 2026 }
machines = { ci = ["*8275CL*", "*8375C*"], box = "EPYC*" }
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a folder in it, where commands are typed."""
    for known in SETTINGS.values():
        monkeypatch.delenv(known.variable or "BENCH_NONE", raising=False)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return tmp_path


def test_every_key_can_be_set_in_pyproject(project: Path) -> None:
    """All of them are read, folders relative to the file."""
    (project / "pyproject.toml").write_text(EVERY)

    assert setting("store") == str(project / "kept")
    assert setting("mappings") == str(project / "maps")
    assert (setting("config"), setting("floor"), setting("headline")) == ("nightly", 0.05, "minimum")
    assert setting("metrics") == ("latency", "rss_peak")
    assert setting("tags") == {"team": "kernels", "year": "2026"}
    assert setting("machines") == {"ci": ("*8275CL*", "*8375C*"), "box": ("EPYC*",)}
    assert {find_setting(key)[1] for key in SETTINGS} == {str(project / "pyproject.toml")}


@pytest.mark.parametrize(("name", "text"), [("bench.toml", ""), ("pyproject.toml", "[tool.bench]\n")])
def test_a_file_that_is_not_utf8_is_no_missing_one(project: Path, name: str, text: str) -> None:
    """Its settings were left out in silence; a pyproject.toml without any is nobody's concern."""
    (project / name).write_bytes(text.encode() + b'floor = "5%"  # \xe9\n')
    with pytest.raises(BenchError, match=rf"{name} is not UTF-8 at byte \d+. Save it as UTF-8."):
        setting("floor")
    (project / name).unlink()
    (project / "pyproject.toml").write_bytes(b"[tool.other]\nfloor = 1  # \xe9\n")
    assert find_setting("floor") == (0.03, "default")


def test_the_environment_counts_before_the_file_and_the_file_before_the_default(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each says where it comes from."""
    assert find_setting("floor") == (0.03, "default")

    (project / "bench.toml").write_text('floor = "4%"\n')
    assert find_setting("floor") == (0.04, str(project / "bench.toml"))

    monkeypatch.setenv("BENCH_FLOOR", "2%")
    assert find_setting("floor") == (0.02, "$BENCH_FLOOR")


def test_a_pyproject_without_the_table_is_passed_by(project: Path) -> None:
    """The search goes on above it; one that is no TOML is somebody else's trouble."""
    (project / "bench.toml").write_text("floor = 0.5\n")
    (project / "src" / "pyproject.toml").write_text("[tool.other\n")

    assert setting("floor") == 0.5


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "flor = 1",
            UnknownName,
            "no setting 'flor' in .*bench.toml. Nearest: 'floor'.* Settings: store, config, floor,",
        ),
        ("floor = 'much'", BenchError, "bench.toml: floor: 'much' is not a share"),
        ("floor = true", BenchError, "floor = True: expected"),
        ("metrics = 3", BenchError, "metrics = 3: expected list of texts"),
        ("headline = 'mode'", BenchError, r"headline = 'mode': expected median \| mean \| minimum"),
        ("floors = [{ metric = 'x' }]", BenchError, r"floors = .*: expected list of .*\[{case = "),
        ("floors = [{ metrics = 'x', floor = 1 }]", UnknownName, "Nearest: 'metric'"),
        ("store = [", BenchError, "bench.toml is not valid TOML"),
    ],
)
def test_what_is_no_setting_is_refused(project: Path, text: str, error: type[BenchError], message: str) -> None:
    """The error names the file, the key, and what it may hold."""
    (project / "bench.toml").write_text(text)

    with pytest.raises(error, match=message):
        setting("floor")


def test_the_last_floor_that_fits_counts(project: Path) -> None:
    """By patterns of the metric and the case; else the floor of all."""
    (project / "pyproject.toml").write_text(EVERY)

    assert floor_of("rss_peak", "matmul") == 0.01
    assert floor_of("rss_peak", "io/read") == 0.1
    assert floor_of("latency", "matmul") == 0.05
    assert floor_of("latency", "matmul", 0.2) == 0.05


def test_a_store_of_the_project_holds_for_every_command(project: Path) -> None:
    """It counts before the nearest .bench, and after an option."""
    (project / "src" / ".bench").mkdir()
    (project / "bench.toml").write_text('store = "kept"\n')

    assert Store.find().root == project / "kept"
    assert Store.find("other").root == project / "src" / "other"


def test_a_recorded_run_has_config_and_tags_of_the_project(project: Path) -> None:
    """The script's own count before them."""
    (project / "pyproject.toml").write_text(EVERY)
    with bench.run(tags={"team": "own"}):
        pass
    with bench.run("mine"):
        pass

    rows = bench.open().sql("SELECT config, tags FROM runs ORDER BY started_at").rows()
    assert [(config, json.loads(tags)) for config, tags in rows] == [
        ("nightly", {"team": "own", "year": "2026"}),
        ("mine", {"team": "kernels", "year": "2026"}),
    ]


def test_a_mapping_is_found_in_the_folder_of_the_project(project: Path) -> None:
    """`--map @NAME` needs no path."""
    (project / "bench.toml").write_text('mappings = "maps"\n')
    (project / "maps").mkdir()
    (project / "maps" / "own.toml").write_text('name = "op"\nvalue = "took"\nunit = { text = "ms" }\n')
    (project / "src" / "own.csv").write_text("op,took\nmatmul,1.5\n")
    done = CliRunner().invoke(cli, ["ingest", "own.csv", "--map", "@own"])

    assert done.exit_code == 0, done.output
    assert bench.open().sql("SELECT name, median FROM cells").rows() == [("matmul", 1.5e6)]


def test_settings_are_listed_with_their_origin(project: Path) -> None:
    """Every key, in any format."""
    (project / "bench.toml").write_text('floor = "4%"\n')
    done = CliRunner().invoke(cli, ["settings", "--format", "json"])

    rows = {row["setting"]: row for row in json.loads(done.stdout)}
    assert rows.keys() == SETTINGS.keys()
    assert (rows["floor"]["value"], rows["floor"]["from"]) == ("0.04", str(project / "bench.toml"))
    assert (rows["store"]["value"], rows["store"]["from"]) == (None, "default")
