"""`--with`: two versions of a package, each installed for its side alone, measured in turns and compared."""

import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from bench.cli import cli
from bench.measure.revisions.packages import installed
from bench.warehouse.errors import BenchError
from click.testing import CliRunner, Result

from ...builders import stored

SIDES = ("--with", "unhurried==1.0", "--with", "unhurried==2.0")


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip takes packages from, with two versions of one."""
    folder = tmp_path_factory.mktemp("shelf")
    for version, work in (("1.0", 20_000), ("2.0", 2_000)):
        info = f"unhurried-{version}.dist-info"
        with zipfile.ZipFile(folder / f"unhurried-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("unhurried.py", f"version = {version!r}\ndef run():\n    return sum(range({work}))\n")
            wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: unhurried\nVersion: {version}\n")
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return folder


@pytest.fixture(autouse=True)
def shelf(packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, and no network; its packages are installed once for all tests. We are in an empty folder."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for name, value in {
        "XDG_CACHE_HOME": packages / "cache", "BENCH_STORE": tmp_path / "store", "PIP_FIND_LINKS": packages,
        "PIP_NO_INDEX": 1, "UV_FIND_LINKS": packages, "UV_NO_INDEX": 1, "UV_OFFLINE": 1,
    }.items():  # fmt: skip
        monkeypatch.setenv(name, str(value))
    return packages


def measure(*words: str) -> Result:
    return CliRunner().invoke(cli, ["measure", *words], standalone_mode=False)


def runs(what: str) -> list[tuple[Any, ...]]:
    return stored(f"SELECT DISTINCT config, {what} FROM runs JOIN environments USING (environment_id) ORDER BY 1")


def test_a_function_is_measured_with_each_version() -> None:
    """In turns; runs are called by their version, and the environment of each says which it had."""
    result = measure(
        "function", "unhurried:run", *SIDES, "--rounds", "2", "--processes", "1", "--repeat", "14", "--name", "run"
    )

    assert result.return_value == 0, result.output
    assert runs("tags ->> 'with', packages ->> 'unhurried'") == [
        ("unhurried==1.0", "unhurried==1.0", "1.0"), ("unhurried==2.0", "unhurried==2.0", "2.0"),
    ]  # fmt: skip
    assert stored("SELECT count(*) FROM runs") == [(4,)]
    medians = dict(
        stored("SELECT config, min(median) FROM cells WHERE metric = 'latency' AND phase = 'steady' GROUP BY 1")
    )
    assert medians["unhurried==1.0"] > 2 * medians["unhurried==2.0"]
    assert "unhurried differs: 1.0 → 2.0" in result.output


@pytest.mark.exhaustive
def test_a_command_finds_its_version_and_nothing_is_left_behind() -> None:
    """A hook goes on working; afterwards this process finds what it found before."""
    before = list(sys.path), os.environ.get("PYTHONPATH"), os.environ["PATH"]
    code = "import unhurried; open('log', 'a').write(unhurried.version + ' ')"
    result = measure(
        "command", *SIDES, "--rounds", "1", "--repeat", "2", "--prepare", "true", "--", sys.executable, "-c", code
    )

    assert result.return_value == 0, result.output
    assert sorted(Path("log").read_text().split()) == ["1.0", "1.0", "2.0", "2.0"]
    assert before == (sys.path, os.environ.get("PYTHONPATH"), os.environ["PATH"])


@pytest.mark.exhaustive
def test_a_version_is_installed_once(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next measurement finds it in the cache; of a file the content may have changed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    said: list[str] = []
    file = str(shelf / "unhurried-1.0-py3-none-any.whl")
    for _ in range(2):
        with installed(["unhurried==1.0", file], said.append) as sides:
            assert all((side.folder / "unhurried.py").exists() for side in sides.values())

    assert said == ["installing unhurried==1.0", f"installing {file}", f"installing {file}"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["command", "--with", "unhurried==1.0", "--", "true"], "--with takes two or more"),
        (["command", "--with", "unhurried==1.0", "--with", "unhurried==1.0", "--", "true"], "two or more"),
        (["command", *SIDES, "--revisions", "a", "b", "--", "true"], "give one of them"),
        (["function", "work:run", *SIDES, "--prepare", "true"], "installed as they are"),
        (["function", "work:run", "--with", "--index-url=x", "--with", "unhurried==1.0"], "asks for no package"),
        (["command", "--with", "unhurried==1.0", "--with", "unhurried==7", "--", "true"], "unhurried==7 cannot be installed: .*"),
    ],
)  # fmt: skip
def test_what_cannot_be_compared_says_why(words: list[str], problem: str) -> None:
    """With the option or the requirement; nothing is recorded."""
    with pytest.raises(BenchError, match=problem):
        if error := measure(*words).exception:
            raise error


@pytest.mark.exhaustive
def test_a_model_is_measured_with_each_version() -> None:
    """A row for each; the column is headed by the option."""
    pytest.importorskip("torch")
    Path("net.py").write_text("""
import torch, unhurried

class Net(torch.nn.Module):
    def forward(self, x):
        return x * unhurried.run()

    def get_example_inputs(self):
        return (torch.ones(2),)
""")
    result = measure(
        "models",
        "--suites",
        "path:net.py",
        "--backends",
        "eager",
        *SIDES,
        "--rounds",
        "1",
        "--repeat",
        "14",
        "--no-memory",
    )

    assert result.return_value == 0, result.output
    assert (
        result.output.splitlines()[-1].startswith("once more")
        or "unhurried==2.0 against unhurried==1.0" in result.output
    )
    assert [line.split()[:2] for line in result.output.splitlines() if line.startswith("unhurried==")][:2] == [
        ["unhurried==1.0", "Net"], ["unhurried==2.0", "Net"],
    ]  # fmt: skip
