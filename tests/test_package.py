"""The package: lazy imports, and a command line whose every command is documented."""

import ast
import importlib
import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import bench
import click
import pytest
from bench import cli, command_names

ROOT = Path(__file__).parents[1]
ROOMS = ("sql", "warehouse", "query", "measure", "ingest", "viz", "agents")
HEAVY = ("altair", "duckdb", "mcp", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "torch", "vl_convert")
NEEDS = {"measure": "torch", "viz": "altair"}  # extras without which a command may not even be imported


def modules() -> list[Path]:
    """Every module of the package, tests left out."""
    return sorted(
        path
        for path in (*ROOT.glob("*.py"), *(p for room in ROOMS for p in (ROOT / room).rglob("*.py")))
        if path.name != "conftest.py"
    )


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Absolute dotted names of what a module imports, and whether it says so by a relative import."""
    package = ("bench", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, False) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = ".".join((*base, *((node.module,) if node.module else ())))
            yield from ((f"{stem}.{alias.name}", node.level > 0) for alias in node.names)


def test_imports_inside_the_package_are_relative() -> None:
    """They resolve by file position, so that checkers and readers follow them; `test_house` has the floors."""
    found = [(path, name) for path in modules() for name, relative in imports(path) if not relative]
    absolute = [f"{path}: {name}" for path, name in found if name.split(".")[0] == "bench"]
    assert absolute == []


def test_heavy_packages_are_imported_when_they_are_needed() -> None:
    """No module imports one at its top, so that no command pays for another's."""
    heavy = []
    for path in modules():
        if path == ROOT / "measure" / "suites" / "builtin_models.py":
            continue  # torch modules and nothing else
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {name.split(".")[0] for node in top for name in _names(node)}
        heavy += [f"{path}: {name}" for name in names & set(HEAVY)]
    assert heavy == []


def _names(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.ImportFrom):
        return [] if node.level else [node.module or ""]
    return [alias.name for alias in node.names]


def test_the_package_list_is_the_tree() -> None:
    """pyproject.toml installs every folder with modules, and every file that is not a module."""
    said = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {path.parent.relative_to(ROOT) for path in modules()}
    assert set(said["packages"]) == {".".join(("bench", *folder.parts)) for folder in folders}
    assert all((ROOT / folder / "__init__.py").exists() for folder in folders)
    for room, endings in {"sql": {".sql", ".txt"}, "agents": {".txt"}, "viz/output": {".css", ".js"}}.items():
        folder = ROOT / room
        packed = {
            path for pattern in said["package-data"][f"bench.{room.replace('/', '.')}"] for path in folder.glob(pattern)
        }
        assert packed == {path for path in folder.rglob("*") if path.suffix in endings}


def imported(script: str, *names: str) -> set[str]:
    """Which of these packages a fresh interpreter has imported after the script."""
    tell = f"\nimport sys; print('imported:', *({set(names)!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script + tell], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("imported:")[2].split())


@pytest.mark.parametrize("room", ["bench", "bench.warehouse", "bench.query", "bench.ingest", "bench.measure"])
def test_what_a_room_exports_is_there_and_costs_nothing_before_it_is_used(room: str) -> None:
    """Names are imported on first use, which later ones do not repeat; an unknown one is an AttributeError like any other."""
    package = importlib.import_module(room)

    assert [name for name in package.__all__ if getattr(package, name, None) is None] == []
    assert set(package.__all__) <= vars(package).keys()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = package.nothing
    assert imported(f"import {room}", *HEAVY) == set()


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []], ids=" ".join)
def test_help_and_version_import_nothing_heavy(arguments: list[str]) -> None:
    """They answer at once."""
    script = f"""
import sys
sys.argv = ["bench", *{arguments!r}]
from bench.cli import main
try:
    main()
except SystemExit:
    pass
"""
    assert imported(script, *HEAVY) == set()


def test_a_reader_who_leaves_is_no_finding() -> None:
    """A command that cannot go on writing ends as one that SIGPIPE kills, not with 1, which is a regression."""
    end, begin = os.pipe()
    os.close(end)
    with os.fdopen(begin, "wb") as out:
        done = subprocess.run([sys.executable, "-m", "bench", "help"], stdout=out)

    assert done.returncode == 128 + signal.SIGPIPE


def test_recording_imports_nothing_heavy_until_it_seals(tmp_path: Path) -> None:
    """Emitting needs neither Arrow nor DuckDB nor torch; closing needs Arrow alone."""
    script = f"""
import bench
run = bench.run("a", store={str(tmp_path)!r})
case = run.case("c", parameters={{"n": 1}})
case.timing(1)
with case.time():
    pass
case.memory(1)
case.metric("m", 1.0)
case.outcome("ok")
run.schedule_chunk([1, 2, 3], schedule_ms=1.0)
run.flush()
"""
    assert imported(script, *HEAVY) == set()
    assert imported(script + "\nrun.close()", *HEAVY) == {"numpy", "pyarrow"}


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command and command of a group, with its full name; those that lack their extra are left out."""
    for name in command_names.COMMANDS:
        if find_spec(NEEDS.get(name, "click")) is None:
            continue
        command = cli.cli.get_command(click.Context(cli.cli), name)
        assert command is not None
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for child in command.list_commands(context):
                found = command.get_command(context, child)
                assert found is not None
                yield f"{name} {child}", found


def test_every_command_is_named_in_the_docs() -> None:
    """A command nobody can read of does not exist."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages if page.exists())
    assert [name for name, _ in commands() if f"bench {name}" not in text] == []


def test_every_command_ends_its_help_in_a_line_one_can_paste() -> None:
    """And that line calls it by its name."""
    for name, command in commands():
        lines = [line.strip() for line in (command.help or "").replace("\b", "").splitlines() if line.strip()]
        assert lines and f"bench {name.split()[0]}" in lines[-1], f"{name}: {lines[-1:]}"


def test_the_short_helps_are_sentences() -> None:
    """They stand in `bench --help`, one a line."""
    assert all(help_.endswith(".") and len(help_) < 80 for _, _, help_ in command_names.COMMANDS.values())


def test_every_option_says_what_it_is_for() -> None:
    """No option without its help."""
    for name, command in commands():
        silent = [p.name for p in command.params if isinstance(p, click.Option) and not p.help and not p.hidden]
        assert not silent, f"{name}: {silent}"


def test_the_version_is_the_package_s() -> None:
    """`bench --version` and `bench.__version__` agree, installed or not."""
    done = subprocess.run([sys.executable, "-m", "bench", "--version"], capture_output=True, text=True, check=True)
    assert bench.__version__ in done.stdout
