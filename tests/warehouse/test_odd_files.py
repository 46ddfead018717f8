"""A folder, a pipe, a device or nonsense in the place of any file of a store: a sentence that names it, and no hang."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import bench
import pytest
from bench.ingest.run import ingest
from bench.warehouse.store import Store

from ..exhaustive import exhaustive
from ..warm import Told, Warm

ODD: dict[str, Callable[[Path], object]] = {
    "folder": Path.mkdir,
    "full folder": lambda path: (path / "inside").mkdir(parents=True),
    "zero": lambda path: path.symlink_to("/dev/zero"),
    "null": lambda path: path.symlink_to("/dev/null"),
    "nowhere": lambda path: path.symlink_to("/nowhere/at/all"),
    "loop": lambda path: path.symlink_to(path.name),
    "pipe": os.mkfifo,
    "empty": Path.touch,
    "nonsense": lambda path: path.write_bytes(b"\xff\xfe\x00 nonsense" * 99),
}
STATES = {
    "null": "null", "list": "[]", "number": "5", "text": '"x"', "cut": '{"url": "s3://b', "nothing": "{}", "url 5": '{"url": 5}',
    "no url": '{"url": null}', "file": '{"url": "file:///etc"}', "no address": '{"url": "x"}', "empty url": '{"url": ""}',
    "password": '{"url": "s3://u:hush@b/x"}', "deep": "[" * 100_000, "huge": " " * (65 << 20), "digits": "9" * 5000,
    "times": '{"url": "s3://b/x", "since": "x", "pulled_at": [], "listed_at": {}}',
    "late": '{"url": "s3://b/x", "since": 1e400, "pulled_at": 1e300, "listed_at": NaN}',
}  # fmt: skip
# What stands there, and what its loss means: nothing, for it is derived or was left behind; or that the log lacks a file.
LOG = {f"events/{table}": True for table in ("runs", "cases", "environments", "outcomes", "timings", "metrics", "memory_samples",
                                             "schedule_chunks", "sources")}  # fmt: skip
PLACES = LOG | {
    "journal/*.journal": True, "archiving.json": True, "remote.json": True, "lock": True, "events": True, "journal": True,
    "events/timings/": True, "warehouse.duckdb": False, "sources.json": False, "uploaded.txt": False, ".spill": False,
    ".warehouse-1.duckdb": False, ".archiving-x": False, "events/.import-x": False, "events/runs/.merged-x.tmp": False,
    "damaged": False, "damaged/x.journal": False, "artefacts": False, "artefacts/x/trace.json": False, "claims": False,
}  # fmt: skip
# Each place with two or three of the oddities, each of which comes to a third of the places: all pairs take five times as long.
SOME_PAIRS = [(place, odd) for at, place in enumerate(PLACES) for to, odd in enumerate(ODD) if (at + to) % 4 == 0]
FEW_PAIRS = list(itertools.product(("events/timings", "journal/*.journal"), ("folder", "zero")))
# An empty journal is one whose writer recorded nothing; a lock is a lock whatever is written in it.
FINE = [("journal/*.journal", "empty"), ("lock", "empty"), ("lock", "nonsense")]
FOLDERS = ("events", "journal", "events/timings/")
EVERY = [
    ["sql", "SELECT count(*) FROM timings"], ["views"], ["speedups"], ["compare", "a", "b"], ["regressions"], ["history"],
    ["report"], ["export", "latest", "--as", "hyperfine"], ["runs"], ["configs"], ["cases"], ["sources"], ["rejects"],
    ["show", "a"], ["explain", "c", "--backend", "eager", "--run", "a"], ["env-diff", "a", "b"], ["plan"], ["cost-model"],
    ["viz", "timeline"], ["recover"], ["verify"], ["ingest", "D:profile"], ["sync", ".bench", "copy"], ["compact"],
    ["archive", "old", "--before", "2100-01-01", "--dry-run"], ["archive", "old", "--before", "2100-01-01"], ["rebuild"],
]  # fmt: skip
# reads nothing of what was recorded before
MEASURE = ["measure", "command", "--repeat", "2", "--warmup", "0", "--", "true"]
SOME = [line for line in EVERY if line[0] in ("sql", "verify", "ingest", "sync", "compact", "archive")]
FEW = [line for line in SOME if line[0] in ("sql", "ingest")]


@pytest.fixture
def tell(warm: Warm) -> Callable[[list[str]], Told]:
    """Run a command line in a process of its own, which ends in any case: after a minute or 3 GB."""
    return lambda line: warm("bench", *line, folder=Path("/"), environment=os.environ, memory=3 << 30)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with something of everything but a warehouse, and a profile to load."""
    folder = tmp_path_factory.mktemp("template")
    store = Store(folder / ".bench")
    for config in "ab":
        with bench.run(config, store=store) as run:
            for backend in ("eager", "inductor"):
                case = run.case("c", suite="s", mode="inference", device="cpu", backend=backend)
                for sample in range(20):
                    case.timing(1000 + sample)
                case.memory(100)
                case.metric("m", 1.0)
                case.outcome("ok")
            run.schedule_chunk([1, 2], schedule_ms=1.0, model_run_ms=2.0)
    (folder / "profile").mkdir()
    step = {"batch_id": 1, "chunk_sizes": [1], "schedule_ms": 1.0, "model_run_ms": 2.0}
    (folder / "profile" / "steps.jsonl").write_text((json.dumps(step) + "\n") * 3)
    ingest(store, [f"C:{folder / 'profile'}"])
    dead = "import bench, os, sys; bench.run('dead', store=sys.argv[1]).case('c').timing(5); os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", dead, store.root], check=False)
    store.database.unlink()
    return folder


def placed(template: Path, tmp_path: Path, place: str) -> Path:
    """A copy of the template, and the path there to put something else at, which is empty then."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True, symlinks=True)
    root = tmp_path / ".bench"
    if place in LOG:
        path = min((root / place).glob("*.parquet"))
    elif "*" in place:
        (path,) = root.glob(place)
    else:
        path = root / place
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def check_each(
    lines: list[list[str]], tell: Callable[[list[str]], Told], path: Path, folder: Path, *, matters: bool
) -> Iterator[Told]:
    """Run each command line in the copy of the template, check it, and give what it said; an error shows that."""
    for line in lines:
        told = tell(command_line(line, folder))
        try:
            check(told, path, matters=matters)
        except AssertionError as error:
            raise AssertionError(f"{line}: {told}") from error
        yield told


def check(told: Told, path: Path, *, matters: bool) -> None:
    """A command ended by itself, with a sentence where something is wrong, which names what it is."""
    code, _, err = told
    assert "internal error" not in err and "Traceback" not in err
    assert code in (0, 1, 2, 3, 4, 70)
    if matters and code in (0, 1, 2, 70):
        assert path.name in err
    if code in (2, 70):
        assert "Error: " in err
    if not matters and not path.is_dir():
        assert code != 70


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def command_line(line: list[str], tmp_path: Path) -> list[str]:
    """With paths below the folder of the test, since the runner works elsewhere."""
    words = [str(tmp_path / word) if word in (".bench", "copy", "old") else word for word in line]
    words = [word.replace("D:profile", f"D:{tmp_path / 'profile'}") for word in words]
    if line[0] == "sync":
        return words
    return [*words, *(["-o", str(tmp_path / "x.html")] if line[0] == "viz" else []), "--store", str(tmp_path / ".bench")] \
        if "--" not in words else [*words[:2], "--store", str(tmp_path / ".bench"), *words[2:]]  # fmt: skip


@pytest.mark.exhaustive
@pytest.mark.parametrize(("place", "odd"), [*dict.fromkeys(FEW_PAIRS + SOME_PAIRS)])
def test_what_stands_for_a_file_is_named(
    place: str, odd: str, tell: Callable[[list[str]], Told], template: Path, tmp_path: Path
) -> None:
    """By every command that reads or moves events; what is derived, or was left behind, hinders none."""
    path = placed(template, tmp_path, place)
    ODD[odd](path)
    fine = path.is_dir() if place in FOLDERS else (place, odd) in FINE
    matters = PLACES[place] and not fine
    assert [*check_each(SOME if matters else FEW, tell, path, tmp_path, matters=matters)]


@exhaustive
@pytest.mark.parametrize("odd", ["folder", "zero"])
@pytest.mark.parametrize("place", ["events/timings", "events/runs", "journal/*.journal", "archiving.json"])
def test_every_command_names_it(
    place: str, odd: str, tell: Callable[[list[str]], Told], template: Path, tmp_path: Path
) -> None:
    """Not only the first one, which builds the warehouse."""
    path = placed(template, tmp_path, place)
    ODD[odd](path)
    assert [*check_each(EVERY, tell, path, tmp_path, matters=True)]
    assert [*check_each([MEASURE], tell, path, tmp_path, matters=False)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["remote.json", "archiving.json", "sources.json"])
@pytest.mark.parametrize("state", list(STATES))
def test_what_a_store_notes_may_lie(
    name: str, state: str, tell: Callable[[list[str]], Told], template: Path, tmp_path: Path
) -> None:
    """Cut, of other types, huge or with numbers that cannot be: a sentence, and no secret in it."""
    path = placed(template, tmp_path, name)
    path.write_text(STATES[state])
    for code, out, err in check_each(FEW, tell, path, tmp_path, matters=False):
        assert "hush" not in err, (code, out, err)
        if name == "remote.json" and state not in ("times", "late"):
            assert code == 2 and ("remote.json" in err or "store" in err), (code, out, err)
