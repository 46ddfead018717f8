"""Refused command lines: no command writes to the store before it knows that it can do what it was asked for."""

import hashlib
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.cli import cli
from bench.ingest.command import ingest_in_place
from bench.warehouse.load import load
from bench.warehouse.store import Store
from click.testing import CliRunner

from .exhaustive import first_of
from .query.conftest import record
from .test_package import commands

# Command lines that are refused as late as possible. NEW is a file of results that the store lacks, OTHER another store.
REFUSED: dict[str, list[str]] = {
    "measure models": ["--models no-such-model --backends eager", "--models mlp --backends no-such-backend"],
    "measure command": ["", "--runs 0 -- true"],
    "measure function": ["", "--quick", "no_such_module:f"],
    "measure lines": ["", "no_such_module:f", "json", "json:dumps --arg obj=1 -o FOLDER/none/x.html"],
    "measure memory": ["", "/no/such/script.py"],
    "measure attach": ["", "999999999"],
    "measure serving": ["", "--url nonsense"],
    "ingest": ["/no/such/file", "TEXT", "NEW --format no-such-format", "NEW --map nonsense", "NEW --tag nonsense", "EMPTY"],
    "sql": ["'SELECT nothing'", "'DELETE FROM runs'", "'FROM runs' -o FOLDER/none/x", "'FROM runs' -f /no/such/file", "''"],
    "views": ["no_such_view", "runs cells"],
    "speedups": ["--runs zzz", "--backends no-such", "-o FOLDER/none/x"],
    "compare": [
        "main zzz", "main NEW --where zzz=1", "main NEW --where nonsense", "main NEW -o FOLDER/none/x",
        "main OTHER --metrics zzz", "OTHER zzz:OTHER",
        "NEW TEXT", "NEW EMPTY", "main NEW --slo nonsense", "main NEW --slo ttft=200", "main main",
        "NEW NEW",
    ],
    "regressions": ["zzz", "--configs zzz", "--confirm zzz", "main -o FOLDER/none/x"],
    "history": ["--configs zzz", "--since nonsense", "--metrics zzz"],
    "bisect": ["", "--good zzz -- true"],
    "ci": ["", "--against no-such-revision -- true"],
    "report": ["zzz", "main zzz", "main -o FOLDER/none/x.md"],
    "export": ["--as no-such", "--as hyperfine zzz", "--as hyperfine main -o FOLDER/none/x"],
    "list runs": ["--configs zzz", "--limit -1"],
    "list configs": ["--format none"],
    "list cases": ["--runs zzz", "--statuses zzz"],
    "list sources": ["--configs zzz"],
    "list rejects": ["--configs zzz"],
    "show": ["zzz"],
    "explain": ["zzz", "main zzz mlp", "mlp --run zzz", "mlp --metric zzz"],
    "why": ["main zzz", "main NEW zzz", "main NEW geomean -o FOLDER/none/x"],
    "env-diff": ["main zzz", "main NEW -o FOLDER/none/x"],
    "plan": ["--configs zzz", "--detect nonsense"],
    "cost-model": ["zzz"],
    "forget": ["zzz --yes", "", "/no/such/file --yes"],
    "remember": ["zzz"],
    "rename": ["zzz new", "main"],
    "tag": ["zzz a=b", "main nonsense", "main"],
    "untag": ["main no-such-tag", "zzz a"],
    "doctor": ["--no-such-option"],
    "store sync": ["/no/such/store STORE", "STORE s3://user:password@bucket", "STORE STORE"],
    "store compact": ["--below nonsense", "--target 0"],
    "store archive": ["--before nonsense --to OTHER", "--before 2001-01-01 --to STORE"],
    "publish": ["", "FOLDER", "FOLDER/text.json", "s3://user:password@bucket/site", "FOLDER/site --to-branch a..b"],
    "programs schemas": ["no such answer"],
    "programs mcp": ["--allow-measure 'rm -rf /'", "--timeout 0"],
    "programs completion": ["no-such-shell"],
    "viz movers": ["main zzz", "main NEW --metric zzz", "main NEW -o FOLDER/none/x.svg"],
    "viz runtime-vs-tokens": ["NEW -o FOLDER/none/x.svg", "zzz", "main --sides"],
    "viz query": ["'SELECT nothing'", "'COPY runs TO FILE'"],
    "viz explain": ["/no/such/file"],
}  # fmt: skip
ELSEWHERE = ("NEW TEXT",)
LINES = sorted(  # one that reads another place first, then one line of each command
    ((name, words) for name, several in REFUSED.items() for words in several),
    key=lambda line: (line[1] not in ELSEWHERE, line[1] != REFUSED[line[0]][0]),
)
SAMPLE = len(REFUSED) + len(ELSEWHERE)
ABOUT_THE_STORE = {
    "store recover",
    "store rebuild",
    "store verify",
    "settings",
}  # they take no argument that could be refused late


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with two configs and imported results, another store, and files that it lacks."""
    folder = tmp_path_factory.mktemp("refused")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, text in {"new": _results(1.5), "known": _results(1.25), "text": "no results"}.items():
            (folder / f"{name}.json").write_text(text)
        (folder / "empty").mkdir()
        record(folder / "store", "main", "aaaa-1")
        record(folder / "store", "fuse", "bbbb-1")
        record(folder / "other", "main", "cccc-1")
        ingest_in_place(Store(folder / "store"), [f"imported:{folder / 'known.json'}"])
        load(Store(folder / "store"))
        yield folder


def _results(seconds: float) -> str:
    return f'{{"results": [{{"command": "sleep", "mean": {seconds}, "times": [{seconds}, {seconds}]}}]}}'


def state(folder: Path) -> dict[str, str]:
    """Every file and folder below a folder, by its content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize(("name", "words"), first_of(SAMPLE, LINES))
def test_a_refused_command_line_leaves_the_store_as_it_is(folder: Path, name: str, words: str) -> None:
    """Byte for byte, and makes no file anywhere; it ends with an error."""
    places = {
        "NEW": folder / "new.json", "OTHER": folder / "other", "TEXT": folder / "text.json", "EMPTY": folder / "empty",
        "STORE": folder / "store", "FOLDER": folder, "FILE": folder / "made",
    }  # fmt: skip
    for placeholder, path in places.items():
        words = words.replace(placeholder, str(path))
    before = state(folder)

    result = CliRunner().invoke(
        cli, [*name.split(), *shlex.split(words)], env={"BENCH_STORE": str(folder / "store"), "COLUMNS": "100"}
    )

    assert result.exit_code != 0, result.output
    assert state(folder) == before


NEW_STORE = [(name, words) for name, words in LINES if name.split()[0] in ("measure", "ingest")]


@pytest.mark.parametrize(("name", "words"), [*NEW_STORE, ("ingest", ""), ("ingest", "BLANK")])
def test_what_is_refused_makes_no_store(tmp_path: Path, folder: Path, name: str, words: str) -> None:
    """A store that is missing is not made by what cannot record or load, nor for a file that is empty."""
    (tmp_path / "blank.json").touch()
    places = {"NEW": "new.json", "TEXT": "text.json", "EMPTY": "empty"}
    for placeholder, path in places.items():
        words = words.replace(placeholder, str(folder / path))
    words = words.replace("BLANK", str(tmp_path / "blank.json"))

    result = CliRunner().invoke(cli, [*name.split(), *shlex.split(words)], env={"BENCH_STORE": str(tmp_path / "store")})

    assert (result.exit_code != 0) != ("blank" in words), result.output
    assert [path.name for path in tmp_path.iterdir()] == ["blank.json"]


def test_every_command_is_refused_something() -> None:
    """A new command joins the table above, or takes nothing that could be refused."""
    names = {name for name, command in commands() if not hasattr(command, "list_commands")}
    charts = {name for name in names if name.startswith("viz ")}

    assert names - charts - REFUSED.keys() == ABOUT_THE_STORE & names
