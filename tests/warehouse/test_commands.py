"""The commands that keep a store in order, and how the command line takes its options and tells its errors."""

import errno
import os
import shlex
import signal
import subprocess
import sys
import unittest.mock
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench
import click
import pytest
from bench import cli
from bench.warehouse import environment
from bench.warehouse.console.options import Command, Moment, Values, command_line, spell_values
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from click.testing import CliRunner

from ..exhaustive import first_of

Told = tuple[int, str, str]  # exit code, stdout, stderr


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.delenv("BENCH_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    return Store.find(tmp_path / ".bench")


@pytest.fixture
def tell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """Run a command line as the user would, in this process."""

    def run(*arguments: str) -> Told:
        monkeypatch.setattr(sys, "argv", ["bench", *arguments])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        out, err = capfd.readouterr()
        return int(stopped.value.code or 0), out, err

    return run


def record(*durations: int) -> None:
    with bench.run("a") as run:
        case = run.case("c")
        for duration in durations:
            case.timing(duration)


def test_recover_seals_what_a_dead_process_left(store: Store, tell: Callable[..., Told]) -> None:
    """It says how many journals there were, and how many belong to the living."""
    script = "import bench, os, signal; bench.run('a').case('c').timing(1); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", script], check=False)
    with bench.run("alive"):
        code, out, err = tell("recover")
        assert (code, out) == (0, "1 journal recovered, 1 still being written\n")
        assert "bytes of journals that no process closed were recovered without a checksum" in err
    assert tell("recover")[1:] == ("0 journals recovered, 0 still being written\n", "")


@pytest.mark.exhaustive
def test_a_damaged_journal_is_named_until_somebody_deletes_it(store: Store, tell: Callable[..., Told]) -> None:
    """Its readable part is loaded, the file is kept as it is, and the exit code is 1."""
    recorder = bench.run("a")
    for sample in range(20_000):
        recorder.case("c").timing(sample)
    recorder._closed = True  # so that it is not sealed
    recorder._journal.close()
    path = recorder._journal.path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)

    code, out, err = tell("sql", "SELECT count(*) BETWEEN 1 AND 19999 AS some FROM timings", "--format", "csv")
    assert (code, out.split()) == (0, ["some", "true"])
    assert err.startswith(f"note: {path.name} is damaged") and "the whole file is kept in" in err
    kept = store.root / "damaged" / path.name
    assert kept.read_bytes() == data
    for command in ("recover", "verify"):
        code, out, err = tell(command)
        assert code == 1
        assert f"{kept} is damaged, and kept until you delete it" in err + out
    kept.unlink()
    assert tell("recover")[0] == tell("verify")[0] == 0


@pytest.mark.exhaustive
def test_the_next_command_says_what_a_killed_process_left_unchecked(store: Store, tell: Callable[..., Told]) -> None:
    """Whichever seals its journal, and once."""
    script = "import bench, os, signal; bench.run('a').case('c').timing(1); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", script], check=False)

    code, _, err = tell("runs", "--format", "csv")

    assert (code, "recovered without a checksum" in err) == (0, True)
    assert tell("runs", "--format", "csv")[2] == ""


@pytest.mark.exhaustive
def test_recover_leaves_journals_of_other_machines_alone(store: Store, tell: Callable[..., Told]) -> None:
    """It says so, and how to seal them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(environment, "machine", lambda: {"host": "beta", "boot": "b", "processes": "p"})
        recorder = bench.run("a")
    recorder._closed = True  # so that it is not sealed
    recorder._journal.close()
    with bench.run("ours"):
        pass
    code, out, err = tell("recover")
    assert (code, out) == (0, "0 journals recovered, 1 still being written\n")
    assert err == "1 journal of other machines, written to within 10 minutes; seal them with: --force\n"
    assert tell("recover", "--force")[1] == "1 journal recovered, 0 still being written\n"


@pytest.mark.exhaustive
def test_a_store_that_may_only_be_read_answers(
    store: Store, tell: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the warehouse as it was loaded last; that something is missing stands on stderr."""
    record(1)
    assert tell("sql", "SELECT count(*) FROM timings", "--format", "csv")[1].split()[-1] == "1"
    record(2)
    lock, access, unlocked = os.open, os.access, store.root / "lock"

    def refuse(path: Any, *rest: Any, **options: Any) -> int:
        if path == unlocked:
            raise PermissionError(13, "Permission denied", str(path))
        return lock(path, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(os, "access", lambda path, mode: path != store.root and access(path, mode))
    code, out, err = tell("sql", "SELECT count(*) FROM timings", "--format", "csv")
    assert (code, out.split()[-1]) == (0, "1")
    assert "what was recorded last is not in this answer: cannot write to the store" in err


def test_rebuild_counts_what_it_loaded(store: Store, tell: Callable[..., Told]) -> None:
    """One line per table on stdout."""
    record(1, 2, 3)
    code, out, err = tell("rebuild")

    assert (code, err) == (0, "")
    assert {tuple(line.split()) for line in out.splitlines()} == {
        ("runs", "1"), ("environments", "1"), ("cases", "1"), ("outcomes", "1"), ("timings", "3"),
    }  # fmt: skip


def test_verify_tells_what_is_damaged_and_exits_with_1(store: Store, tell: Callable[..., Told]) -> None:
    """The file, what is wrong with it and the cure, on stderr; all is well otherwise."""
    record(*range(300))
    code, out, err = tell("verify")
    assert (code, err) == (0, "") and out.splitlines()[-1] == "all is well"

    path = next((store.events / "timings").iterdir())
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(data)
    code, out, err = tell("verify")
    assert code == 1 and "all is well" not in out
    assert f"Error: {path} is damaged" in err and "bench store rebuild" in err


@pytest.mark.exhaustive
def test_compact_says_what_became_of_the_files(store: Store, tell: Callable[..., Told]) -> None:
    """Ten files of two runs become one per table."""
    record(1)
    record(2)
    files = len(EventLog(store).files())
    code, out, err = tell("compact")

    assert (code, out, err) == (0, f"{files} files became {len(EventLog(store).files())}\n", "")
    assert tell("verify")[0] == 0


@pytest.mark.parametrize("command", first_of(1, ["recover", "rebuild", "verify", "compact"]))
def test_no_wait_gives_up_with_75(command: str, store: Store, tell: Callable[..., Told]) -> None:
    """Who must not wait is told who is loading."""
    record(1)
    load(store)
    with store.lock():
        code, out, err = tell(command, "--no-wait")
    assert (code, out) == (75, "")
    assert (
        err
        == f"Error: process {os.getpid()} is loading {store.root}. Try again when it is done, or without --no-wait.\n"
    )


@pytest.mark.parametrize(("number", "how"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM")])
def test_a_signal_says_so_without_a_traceback(number: signal.Signals, how: str, store: Store) -> None:
    """While it waits for another loader, a command tells for whom, and a signal ends it in one sentence."""
    with store.lock():
        process = subprocess.Popen(
            [sys.executable, "-m", "bench", "recover"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stderr is not None
        assert process.stderr.readline() == f"waiting for process {os.getpid()}, which is loading {store.root}\n"
        process.send_signal(number)
        out, err = process.communicate()
    assert (process.returncode, out) == (128 + number, "")
    assert err.lstrip() == f"Error: {how}; everything recorded so far is kept\n"


@pytest.mark.exhaustive
@pytest.mark.parametrize("closed", first_of(1, ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"]))
def test_a_closed_stream_is_the_null_device(closed: str, store: Store) -> None:
    """A command that measures, and what it starts, write to it, and not into a file that took its number."""
    command = f"exec {sys.executable} -m bench measure command --repeat 2 'echo out' {closed}"
    measured = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    verified = subprocess.run([sys.executable, "-m", "bench", "verify"], capture_output=True)

    assert (measured.returncode, verified.returncode) == (0, 0)
    assert "internal error" not in measured.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["recovr"], 2, "no command 'recovr'. Nearest: 'recover'"),
        (["verify", "--stor", "x"], 2, "--store"),
        (["verify", "surplus"], 2, "surplus"),
        (["compact", "--below", "much"], 2, "much"),
        (["verify", "--store", "file"], 2, "the store file is a file. Give a folder with --store"),
        (["ingest", "--store", "file/below"], 2, "there is no store at"),
        (["ingest", "table", "--map", "name=a,value=b", "--store", "file/below"], 2, "cannot create the store"),
        (["compact", "--target", "0"], 2, "0 is not in the range"),
    ],
)
def test_errors_are_sentences(
    arguments: list[str], code: int, says: str, store: Store, tell: Callable[..., Told]
) -> None:
    """They name the fault and the nearest right name, on stderr, with the exit code of usage."""
    Path("file").touch()
    Path("table").write_text("a,b\nx,1\n")
    told, out, err = tell(*arguments)
    assert (told, out) == (code, "")
    assert says in err and "Traceback" not in err


@pytest.mark.parametrize(
    "command", ["runs", "recover", "rebuild", "verify", "compact", "archive elsewhere --before 2026-01-01"]
)
def test_a_store_that_is_not_there_is_an_error_that_says_how_to_begin(
    command: str, store: Store, tell: Callable[..., Told]
) -> None:
    """A path that was misspelt is no store in which all is well, and none is made."""
    code, out, err = tell(*command.split())
    assert (code, out) == (2, "")
    assert (
        err
        == f"Error: there is no store at {store.root}. Record with `bench measure`, or load with: bench ingest PATH\n"
    )
    assert not store.root.exists()


def test_an_internal_error_is_a_sentence_too(
    store: Store, tell: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bug says that it is one, and how to see where, with exit code 70."""
    import bench.warehouse.upkeep.verify

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("oh")

    monkeypatch.setattr(bench.warehouse.upkeep.verify, "verify", broken)
    monkeypatch.delenv("BENCH_DEBUG", raising=False)
    code, out, err = tell("verify")
    assert (code, out) == (70, "")
    assert err.startswith("Error: internal error, a bug in bench: RuntimeError: oh.")


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (RuntimeError("Query interrupted"), 130, "interrupted; everything recorded so far is kept"),
        (PermissionError(errno.EACCES, "Permission denied", "notes"), 77, "cannot use notes: Permission denied."),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "notes"), 70, "cannot use notes: Is a directory."),
    ],
)
def test_what_is_no_bug_does_not_say_that_it_is_one(
    raised: Exception, code: int, says: str, store: Store, tell: Callable[..., Told], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C while DuckDB works, and files of other users, or folders in their place."""
    import bench.warehouse.upkeep.verify

    monkeypatch.setattr(bench.warehouse.upkeep.verify, "verify", unittest.mock.Mock(side_effect=raised))
    monkeypatch.delenv("BENCH_DEBUG", raising=False)
    found, out, err = tell("verify")

    assert (found, out) == (code, "") and says in err and "bug" not in err


def test_a_full_disk_is_no_bug(store: Store, tell: Callable[..., Told], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs out of room says so in words of its own; the cure is the same."""
    import bench.warehouse.upkeep.verify

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bench.warehouse.upkeep.verify, "verify", full)
    monkeypatch.delenv("BENCH_DEBUG", raising=False)
    code, out, err = tell("verify")
    assert (code, out) == (74, "")
    assert "No space left on device. Free some space" in err


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("2026-11-01", "2026-11-01 00:00:00"),
        ("2026-11-01T12:30", "2026-11-01 12:30:00"),
        ("2026-11-01T12:30+02:00", "2026-11-01 10:30:00"),
        ("yesterday", None),
    ],
)
def test_a_date_is_in_utc(text: str, means: str | None) -> None:
    """The error for another text says how to write one, and has no codes such as %Y."""
    if means is None:
        with pytest.raises(click.BadParameter, match=r"is not a date. Write it as 2026-11-01 or"):
            Moment().convert(text, None, None)
    else:
        assert str(Moment().convert(text, None, None)) == means


@click.command(cls=Command)
@click.argument("paths", nargs=-1)
@click.option("-c", "--configs", cls=Values)
@click.option("--batch-sizes", cls=Values, value_type=int)
@click.option("--title")
@click.option("--flag", is_flag=True)
def example(**given: object) -> None:
    """Says what it was given."""
    click.echo(repr({name: value for name, value in given.items() if value}))


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("--configs A B", {"configs": ("A", "B")}),
        ("--configs A --configs B", {"configs": ("A", "B")}),
        ("--configs A,B C", {"configs": ("A", "B", "C")}),
        ("-c A B --flag", {"configs": ("A", "B"), "flag": True}),
        ("--flag --configs A", {"configs": ("A",), "flag": True}),
        ("--configs a\\,b c", {"configs": ("a,b", "c")}),
        ("--configs=A", {"configs": ("A",)}),
        ("--configs A B --title T", {"configs": ("A", "B"), "title": "T"}),
        ("--title T --configs A B -- P Q", {"configs": ("A", "B"), "title": "T", "paths": ("P", "Q")}),
        ("P Q --configs A B", {"configs": ("A", "B"), "paths": ("P", "Q")}),
        ("--batch-sizes 1 8 32", {"batch_sizes": (1, 8, 32)}),
        ("--batch-sizes -1 2 --configs -5", {"batch_sizes": (-1, 2), "configs": ("-5",)}),
        ("--batch-sizes 1,2 4", {"batch_sizes": (1, 2, 4)}),
        ("--title -7 --configs A", {"configs": ("A",), "title": "-7"}),
        ("-- --configs A", {"paths": ("--configs", "A")}),
    ],
)
def test_options_take_several_values_the_natural_way(line: str, given: dict[str, object]) -> None:
    """One after another, repeated, with commas, before and after other options."""
    result = CliRunner().invoke(example, line.split(" "))
    assert (result.exit_code, result.output) == (0, f"{given!r}\n") or eval(result.output) == given


def test_values_are_spelled_as_they_are_read() -> None:
    """Blanks, commas and quotes of a value are its own; without values there is no option."""
    values = ("a b", "c,d", "it's", "plain")
    result = CliRunner().invoke(example, shlex.split(spell_values("--configs", values)))

    assert eval(result.output) == {"configs": values}
    assert spell_values("--configs", ["-x", "y"]) == " --configs=-x --configs=y"
    assert spell_values("--configs", ["plain", "x"]) == " --configs plain x"
    assert spell_values("--configs", []) == ""


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("P -c A,B C --flag", "P --configs A B C --flag"),
        ("P --batch-sizes -1 2", "P --batch-sizes=-1 --batch-sizes=2"),
        ("P Q --title T --flag", "P Q --flag"),
    ],
)
def test_a_command_is_spelled_with_every_option_but_those_left_out(given: str, spelled: str) -> None:
    """As it would be typed again; a new option need not be named anywhere."""
    with example.make_context("example", given.split(" ")) as context:
        assert command_line(context, without=["title"]) == f"bench example {spelled}"


def test_an_option_is_no_value_of_the_one_before() -> None:
    """Its value was forgotten, which is said, instead of looking for a config called --batch-sizes."""
    result = CliRunner().invoke(example, ["--configs", "--batch-sizes", "1"])

    assert result.exit_code == 2
    assert "Option '--configs' requires an argument." in result.stderr


@pytest.mark.parametrize(
    ("line", "says"), [("--batch-sizes 1 x", "'x' is not a valid integer"), ("--configs", "requires an argument")]
)
def test_a_wrong_value_is_named(line: str, says: str) -> None:
    """The one value that is wrong, not the list."""
    result = CliRunner().invoke(example, line.split(" "))
    assert result.exit_code == 2 and says in result.output
