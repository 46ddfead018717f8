"""Names that are found: commands under the names of other tools, help, the store, and what a shell completes."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bench
import click
import pytest
from bench.cli import cli
from bench.command_names import COMMANDS, EARLIER, OTHER_NAMES, WANTS
from bench.query import prompt
from bench.query.explain.explain import explain_case
from bench.warehouse.database import Warehouse
from bench.warehouse.store import Store
from click.testing import CliRunner, Result

from .exhaustive import first_of
from .test_house import ROOT, modules, tree

NAMED = re.compile(r"(?:(\w+): +|^ *)bench ([^;,\n]+)", re.MULTILINE)  # in a message, with the word before the colon
CUES = ("with", "Try", "try", "Run", "run", "Write")  # words before a command


def run(*arguments: str, **settings: Any) -> Result:
    """A command line."""
    return CliRunner().invoke(cli, arguments, **settings)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A run of forty scheduler steps."""
    folder = tmp_path_factory.mktemp("names") / ".bench"
    with bench.run("main", store=folder) as recorded:
        for step in range(40):
            recorded.schedule_chunk([step + 1], schedule_ms=0.1, model_run_ms=5.0)
    return Store(folder)


def test_names_of_other_tools_lead_to_commands_that_exist() -> None:
    """None of them hides a command."""
    assert {words.split()[0] for words in OTHER_NAMES.values()} <= COMMANDS.keys()
    assert not OTHER_NAMES.keys() & (COMMANDS.keys() | EARLIER.keys())


def test_the_help_is_short_and_names_every_command() -> None:
    """At most 24 lines, grouped by what one wants."""
    lines = run("--help").output.splitlines()

    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    assert {name for wanted in WANTS.values() for names, _ in wanted for name in names} == COMMANDS.keys()
    assert list(WANTS) == ["record", "load", "ask", "judge", "draw", "keep"]


@pytest.mark.parametrize("name", EARLIER)
def test_a_name_of_an_earlier_version_goes_on_working(name: str) -> None:
    """It is listed no more."""
    found = run(name, "--help")

    assert found.exit_code == 0 and found.output.startswith(f"Usage: cli {EARLIER[name][0]} ")
    assert name not in COMMANDS


@pytest.mark.parametrize(
    "words", [("runs", "--config", "main"), ("runs", "--configs=main"), ("list", "runs", "--config=main")]
)
def test_singular_and_plural_of_an_option_are_one(store: Store, words: tuple[str, ...]) -> None:
    """`--config` where there may be several, `--configs` where there is one."""
    found = run(*words, "--store", str(store.root))

    assert found.exit_code == 0 and "main" in found.output


def test_a_number_of_samples_is_no_frequency(store: Store) -> None:
    """`--sample` of a measurement is how often memory is read a second."""
    found = run("measure", "function", "json:loads", "--samples", "20", "--store", str(store.root))

    assert found.exit_code == 2 and re.search("No such option:? '?--samples", found.output)  # by the version of click


def test_dir_lists_what_a_notebook_completes() -> None:
    """The public names, though they are imported on first use."""
    assert {"run", "open", "benchmark", "compare"} <= set(dir(bench))


def test_two_runs_are_compared_in_one_call(tmp_path: Path) -> None:
    """As `bench compare` does."""
    for config in ("main", "other"):
        with bench.run(config, store=tmp_path) as own:
            own.case("sort").timing(1)

    assert bench.compare("main", "other", store=tmp_path).rows


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("delete", "forget"),
        ("remove", "forget"),
        ("plot", "viz"),
        ("import", "ingest"),
        ("query", "sql"),
        ("diff", "compare"),
        ("pareto", "viz pareto"),
    ],
)
def test_a_name_of_another_tool_or_of_a_chart_is_answered_with_ours(name: str, here: str) -> None:
    """It is not carried out."""
    found = run(name, "anything")

    assert f"no command '{name}'. It is called {here} here: bench {here} --help" in str(found.exception)


def test_help_is_a_command() -> None:
    """Of all, or of one."""
    assert run("help").output == run("--help").output
    assert run("help", "forget").output == run("forget", "--help").output
    assert "no command 'frget'. Nearest: 'forget'" in str(run("help", "frget").exception)


def test_the_store_may_stand_before_the_command(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's own option counts more, and nothing is left behind."""
    monkeypatch.setenv("BENCH_STORE", "/elsewhere")
    query = ("sql", "SELECT count(*) AS n FROM runs", "--format", "csv")

    assert run("--store", str(store.root), *query).output.split() == ["n", "1"]
    assert run("--store", "/nowhere", *query, "--store", str(store.root)).output.split() == ["n", "1"]
    assert "there is no store at /nowhere" in str(run("--store", "/nowhere", *query).exception)
    assert "the path of the store is empty" in str(run("--store", "", *query).exception)
    assert os.environ["BENCH_STORE"] == "/elsewhere"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_completion(shell: str) -> None:
    """The script asks bench itself."""
    assert f"_BENCH_COMPLETE={shell}_complete" in run("completion", shell).output


@pytest.mark.parametrize(
    ("words", "expected"),
    first_of(
        2,
        [
            ("bench comp", {"compare"}),
            ("bench list runs --form", {"--format"}),
            ("bench compare ma", {"main"}),
            ("bench list runs --configs m", {"main"}),
            ("bench show --metrics model", {"model_run", "model_run_mean"}),
            ("bench show --models st", {"step"}),
        ],
    ),
)
def test_commands_options_and_names_are_completed(store: Store, words: str, expected: set[str], tmp_path: Path) -> None:
    """As the script asks for them: names out of the store."""
    run("list", "runs", "--store", str(store.root))
    code = "import sys; sys.argv = ['bench']; from bench.cli import main; main()"
    number = str(len(words.split()) - 1)
    environment = {**os.environ, "_BENCH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": number,
                   "BENCH_STORE": str(store.root)}  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=tmp_path)

    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == expected


def test_the_prompt_helps_and_lists_without_a_semicolon(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where one is written, and in any case."""
    lines = iter(["help", "SHOW  tables;", "?", "SELECT 40 + 2", "AS x;", "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    monkeypatch.setenv("XDG_STATE_HOME", str(store.root))
    with Warehouse.open(store) as warehouse:
        prompt.converse(warehouse, "csv")
    said = capsys.readouterr()

    assert said.err.count(prompt.HELP) == 3
    assert "run_summaries" in said.out
    assert "42" in said.out


def test_the_prompt_completes_views_and_columns(store: Store) -> None:
    """Macros with their arguments."""
    with Warehouse.open(store) as warehouse:
        names = prompt._names(warehouse)

    assert {"speedups", "median_low", "run_id"} <= set(names)
    assert any(name.startswith("comparisons(") for name in names)


def test_step_means_all_scheduler_steps_together(store: Store) -> None:
    """Its bins are cases as well."""
    with Warehouse.open(store) as warehouse:
        assert explain_case(warehouse, "step").title.startswith("step tokens:all")


def test_a_command_of_many_options_shows_those_people_use() -> None:
    """All of them with --help-all."""
    usual, every = run("measure", "models", "--help").output, run("measure", "models", "--help-all").output

    assert len(re.findall(r"(?m)^  -", usual)) <= 22 < len(re.findall(r"(?m)^  -", every))
    assert "--backends" in usual and "--dynamo-config" not in usual and "--dynamo-config" in every
    assert "more options: cli measure models --help-all" in usual


def texts(path: Path) -> Iterator[str]:
    """The texts of a module; values that are put into them are VALUE."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "VALUE" for part in node.values)


def mistakes(words: list[str], must: bool) -> Iterator[str]:
    """The command that there is not, if it `must` be one, or the options that the command has not."""
    command: click.Command = cli
    rest = iter(words)
    while isinstance(command, click.Group):
        name = next(rest, "").rstrip(".:)'\"`")
        found = command.get_command(click.Context(command), name)
        if found is None:
            if must and name.isalpha() and name.islower():
                yield f"{' '.join(words)}: no command {name}"
            return
        command = found
    context = click.Context(command, **command.context_settings)
    if context.ignore_unknown_options or not context.allow_interspersed_args:
        return  # words of another program follow
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)} | {
        "--help",
        "--help-all",
    }
    for word in rest:
        option = re.match(r"--[a-z][a-z0-9-]*", word)
        if option and not {option[0], f"{option[0]}s"} & known:
            yield f"{' '.join(words)}: no option {option[0]}"


def split(line: str) -> list[str]:
    """The words of a command line, or of a beginning of one."""
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def test_a_command_that_a_message_names_exists() -> None:
    """With the options that it is given there, in messages, cures and help."""
    named = [
        (match[1], match[2]) for path in modules().values() for text in texts(path) for match in NAMED.finditer(text)
    ]
    wrong = [
        mistake for cue, line in named for mistake in mistakes(split(re.split(" -- | then ", line)[0]), cue in CUES)
    ]

    assert len(named) > 200
    assert wrong == []


def test_words_are_spelled() -> None:
    """Of code and docs; tests misspell on purpose."""
    pytest.importorskip("codespell_lib")
    files = [path for path in modules().values() if "tests" not in path.parts]
    files += [*(ROOT / "sql").rglob("*.sql"), *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = subprocess.run(
        [sys.executable, "-m", "codespell_lib", *map(str, files)], capture_output=True, text=True, cwd=ROOT
    )

    assert found.stdout == ""
