"""`bench programs mcp`, asked by the SDK's own client: thirty tasks, hostile texts, and measuring within what is allowed."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from bench.agents import caveats
from bench.agents.server import ASKING, INSTRUCTIONS, build_server
from bench.agents.tools import LIMITS, AllowedMeasurements, Questions, measure_words, plain
from bench.api import OpenStore
from bench.cli import _run_bench
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store

from ..exhaustive import exhaustive, first_of, sampled
from .conftest import HOSTILE

anyio = pytest.importorskip("anyio")
mcp = pytest.importorskip("mcp")

ROOT = Path(__file__).parents[2]
NEVER_CLAIMED = caveats.NOT_CLAIMED


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call gave: its fields, its text, and the kinds of its content."""

    fields: dict[str, Any]
    text: str
    kinds: list[str]
    failed: bool

    @property
    def doubt(self) -> str:
        """All of it in one text."""
        return "; ".join(self.fields["doubt"])

    def rows(self, *columns: str) -> list[tuple[Any, ...]]:
        """Some columns of the rows."""
        return [tuple(row[column] for column in columns) for row in self.fields["rows"]]


Call = tuple[str, dict[str, Any]]


def asked(server: Any, *calls: Call) -> list[Reply]:
    """The replies to some calls over one connection."""

    async def talk() -> list[Reply]:
        async with mcp.Client(server) as client:
            return [_reply(await client.call_tool(name, arguments)) for name, arguments in calls]

    replies: list[Reply] = anyio.run(talk)
    return replies


def _reply(result: Any) -> Reply:
    return Reply(
        result.structured_content or {}, result.content[0].text, [part.type for part in result.content], result.is_error
    )


@pytest.fixture(scope="module")
def server(store: Store) -> Any:
    """A server that measures nothing."""
    return build_server(Questions(OpenStore(store, sandbox=True)))


def by_name(reply: Reply) -> dict[str, str]:
    """The verdict of each model."""
    return dict(reply.rows("name", "verdict"))


SIDES = {"base": "base", "candidate": "candidate"}
LATENCY = {**SIDES, "where": {"metric": ["latency"], "suite": ["s"]}}
Check = Callable[[Reply], Any]

# A task, the call that does it, and what its reply must hold.
TASKS: dict[str, tuple[Call, Check]] = {
    "which views are there": (
        ("views", {}), lambda r: {"speedups", "comparisons(base, candidate)"} <= {row["name"] for row in r.fields["rows"]}),
    "what does a view hold": (("views", {"name": "speedups"}), lambda r: ("speedup", "DOUBLE") in r.rows("column", "type")),
    "what is a macro's grain": (("views", {"name": "comparisons"}), lambda r: "One row per case × metric" in r.fields["summary"]),
    "how many runs are there": (
        ("sql", {"query": "SELECT count(*) AS n FROM runs"}), lambda r: r.rows("n") == [(31,)]),
    "a query beyond the limit": (
        ("sql", {"query": "FROM range(10)", "limit": 3}), lambda r: (len(r.fields["rows"]), r.fields["left_out"]) == (3, None)),
    "a query says that it is no verdict": (
        ("sql", {"query": "SELECT config, median FROM cells LIMIT 2"}), lambda r: caveats.NO_VERDICT in r.doubt),
    "a query whose ratios show nothing": (
        ("sql", {"query": "SELECT 1.2 AS speedup, 0.9 AS low, 1.5 AS high"}),
        lambda r: "1 of 1 values of speedup have no interval" in r.doubt),
    "a query over verdicts counts what is unsure": (
        ("sql", {"query": "SELECT * FROM comparisons(['base-0'], ['candidate-0'])"}), lambda r: NEVER_CLAIMED in r.doubt),
    "a computed table": (("sql", {"query": "SELECT kind FROM change_points"}), lambda r: ("step",) in r.rows("kind")),
    "is it faster": (("compare", LATENCY), lambda r: by_name(r)["alpha"] == "FASTER"),
    "is it slower": (("compare", LATENCY), lambda r: by_name(r)["delta"] == "SLOWER"),
    "what broke and what is gone": (
        ("compare", LATENCY), lambda r: (by_name(r)["epsilon"], by_name(r)["zeta"]) == ("BROKEN", "REMOVED")),
    "what is the same": (("compare", LATENCY), lambda r: by_name(r)["beta"] == "SAME"),
    "one model alone": (("compare", {**SIDES, "where": {"name": ["alpha"]}}), lambda r: by_name(r) == {"alpha": "FASTER"}),
    "an unsure model alone": (
        ("compare", {**SIDES, "where": {"name": ["gamma"]}}), lambda r: "nothing is shown to be faster" in r.doubt),
    "a comparison cut short says what it leaves out": (
        ("compare", {**LATENCY, "limit": 2}), lambda r: r.fields["left_out"] == 5 and "2 UNSURE" in r.doubt),
    "the mean is no verdict": (
        ("compare", LATENCY), lambda r: "no change is shown" in r.fields["summary"] and caveats.MEAN_IS_NO_VERDICT in r.doubt),
    "a higher floor": (
        ("compare", {**LATENCY, "floor": 0.5}), lambda r: by_name(r)["delta"] == "SAME"),
    "what got worse last night": (
        ("regressions", {"runs": ["night-10"]}), lambda r: r.rows("name", "metric", "verdict") == [("mlp", "latency", "SLOWER")]),
    "everything judged last night": (
        ("regressions", {"runs": ["night-10"], "everything": True}), lambda r: "UNSURE" in dict(r.rows("verdict", "name"))),
    "nothing got worse": (
        ("regressions", {"runs": ["night-09"]}), lambda r: r.rows("name") == [] and "nothing is shown" in r.doubt),
    "since when is it slower": (
        ("history", {"pattern": "mlp", "where": {"metric": ["latency"]}}),
        lambda r: r.rows("verdict", "since_run_id") == [("SLOWER", "night-10")]),
    "how much of the history is judged": (("history", {}), lambda r: "series have too few runs" in r.doubt),
    "what makes up a mean": (("why", {**SIDES, "case": "geomean"}), lambda r: r.fields["rows"] and caveats.NO_VERDICT in r.doubt),
    "what did a run measure": (("show", {"runs": ["candidate"]}), lambda r: "alpha" in dict(r.rows("name", "value"))),
    "where does a figure come from": (
        ("explain", {"names": ["alpha"], "run": "candidate"}),
        lambda r: "bench sql" in r.fields["text"] and "samples" in r.fields["text"]),
    "why is it unsure": (
        ("explain", {"names": [*SIDES.values(), "gamma"]}), lambda r: f"the verdict is UNSURE, {NEVER_CLAIMED}" in r.doubt),
    "what is the geometric mean of": (
        ("explain", {"names": ["geomean"], "run": "night-10"}), lambda r: caveats.MEAN_IS_NO_VERDICT in r.doubt),
    "how many runs to see two percent": (
        ("plan", {"detect": 0.02, "where": {"config": ["base"], "name": ["alpha"]}}), lambda r: r.rows("runs_needed")[0][0] >= 1),
    "a report against a base": (
        ("report", {"run": "candidate", "base": "base"}), lambda r: r.fields["text"].startswith("## base → candidate")),
    "a chart as text": (
        ("chart", {"name": "movers", "options": SIDES}), lambda r: "alpha" in r.fields["text"] and len(r.fields["rows"]) == 4),
    "a chart of a query": (
        ("chart", {"name": "query", "options": {"query": "SELECT name, max(median) AS ms FROM cells GROUP BY 1"}}),
        lambda r: "gamma" in r.fields["text"]),
    "a chart as a picture": (
        ("chart", {"name": "runtime-vs-tokens", "options": {"configs": ["base"]}, "picture": True}),
        lambda r: r.kinds == ["text", "image"]),
}  # fmt: skip


@pytest.mark.parametrize("task", sampled([*TASKS], *[*TASKS][::4]))
def test_a_task(server: Any, task: str) -> None:
    """Each reply has a summary, its doubt, and the same as text."""
    (name, arguments), check = TASKS[task]
    if name == "chart":
        pytest.importorskip("vl_convert" if arguments.get("picture") else "altair")
    (reply,) = asked(server, (name, arguments))

    assert not reply.failed, reply.text
    assert json.loads(reply.text) == reply.fields
    assert reply.fields["summary"]
    assert check(reply), reply.text


def test_there_are_thirty_tasks_and_each_tool_has_one() -> None:
    """None of those that ask is untried."""
    assert len(TASKS) >= 30
    assert {name for (name, _), _ in TASKS.values()} == set(ASKING)


@pytest.mark.exhaustive
def test_what_is_unsure_is_never_called_faster(server: Any) -> None:
    """Every row says its verdict in words; an UNSURE one has no number to quote but its interval, and is named in the doubt."""
    compared, judged, past = asked(
        server, ("compare", LATENCY), ("regressions", {"runs": ["candidate", "night-10"], "everything": True}), ("history", {}),
    )  # fmt: skip
    found = 0
    for reply, points in ((compared, "compare"), (judged, "regressions"), (past, "history")):
        for row in reply.fields["rows"]:
            assert f": {row['verdict'] or ''}" in row["says"].replace("neither way", "")
            if row["verdict"] == "UNSURE":
                found += 1
                assert NEVER_CLAIMED in row["says"]
                assert [row[name] for name in caveats.POINTS[points]] == [None] * len(caveats.POINTS[points])
                assert not any(
                    word in row["says"].partition("UNSURE")[2].replace(NEVER_CLAIMED, "")
                    for word in ("x (95", "FASTER")
                )
    assert found >= 4
    assert "2 rows UNSURE" in compared.doubt
    assert "2 UNSURE" in compared.fields["summary"]


def test_the_rows_of_a_verdict_have_its_numbers(server: Any) -> None:
    """A row that is faster carries its interval."""
    (reply,) = asked(server, ("compare", {**SIDES, "where": {"name": ["alpha"]}}))
    (row,) = reply.fields["rows"]

    assert row["says"].startswith(
        "s alpha inference cpu float32 eager, latency: FASTER, 2.000x faster (95 % 1.983–2.018)"
    )
    assert row["ratio"] == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "arguments", "what", "nearest"),
    first_of(3, [
        ("compare", {"base": "bas", "candidate": "candidate"}, "no run 'bas'", ["base"]),
        ("sql", {"query": "FROM speedup"}, "no table or view 'speedup'.", ["speedups"]),
        ("sql", {"query": "SET threads = 1"}, "bench sql only reads: the setting threads is locked.", None),
        ("sql", {"query": "SELECT 1", "limit": 0}, "limit is 0", None),
        ("views", {"name": "speedup"}, "no view or table 'speedup'.", ["speedups"]),
        ("chart", {"name": "speedup"}, "no chart 'speedup'.", ["speedups"]),
        ("chart", {"name": "speedups", "options": {"confgs": ["a"]}}, "no option 'confgs'", ["configs"]),
        ("chart", {"name": "speedups", "options": {"size": "wide"}}, "'wide'", None),
        ("explain", {"names": ["base", "alpha"]}, "want a case, or two sides and a case, and got 2 names", None),
        ("plan", {"detect": -1}, "detect is a fraction above 0", None),
        ("history", {"pattern": "none"}, "no model 'none'", None),
    ]),
)  # fmt: skip
def test_an_error_says_what_and_the_cure(
    server: Any, name: str, arguments: dict[str, Any], what: str, nearest: Sequence[str] | None
) -> None:
    """In the parts of `--errors json`; the connection goes on."""
    if name == "chart":
        pytest.importorskip("altair")
    wrong, right = asked(server, (name, arguments), ("sql", {"query": "SELECT 1 AS one"}))

    assert wrong.failed and wrong.fields["what"].startswith(what), wrong.text
    assert nearest is None or wrong.fields["nearest"][:1] == nearest
    assert right.rows("one") == [(1,)]


@pytest.mark.parametrize(
    "query",
    sampled([
        "SELECT * FROM read_csv('{file}')", "SELECT * FROM read_text('{file}')", "SELECT * FROM glob('{folder}/*')",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/new'", "SET enable_external_access = true", "RESET lock_configuration",
        "SET temp_directory = '{folder}'", "LOAD httpfs", "INSTALL httpfs",
        "SELECT * FROM query('COPY runs TO ''{folder}/new''')", "SELECT * FROM '{folder}/.bench/events/runs/*.parquet'",
        "COPY runs TO '{folder}/new'", "ATTACH '{folder}/new'",
        "CALL enable_logging(storage = 'file', storage_path = '{folder}/new')",
        "CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b')", "PRAGMA import_database('{folder}')",
        "DELETE FROM runs", "UPDATE runs SET config = 'x'", "DROP TABLE runs",
    ], "SELECT * FROM read_text('{file}')"),
)  # fmt: skip
def test_no_query_leaves_the_sandbox(server: Any, store: Store, tmp_path: Path, query: str) -> None:
    """The statements that the sandbox of `bench sql` withstands, by `sql` and by a chart of a query; the store stays as it is."""
    (tmp_path / "secret.csv").write_text("secret\n1\n")
    text = query.format(file=tmp_path / "secret.csv", folder=tmp_path)
    before = set(tmp_path.rglob("*"))
    calls: list[Call] = [("sql", {"query": text}), ("sql", {"query": f"SELECT 1; {text}"})]
    calls += [("chart", {"name": "query", "options": {"query": text}})]
    replies = asked(server, *calls, ("sql", {"query": "SELECT count(*) AS n FROM runs"}))

    assert [reply.failed for reply in replies] == [True, True, True, False]
    assert replies[-1].rows("n") == [(31,)]
    assert set(tmp_path.rglob("*")) == before
    assert not any("secret\n" in reply.text for reply in replies)


@exhaustive
def test_no_option_of_a_chart_names_a_file(server: Any, tmp_path: Path) -> None:
    """A spec is read from a file, so it is no option here; nor is anything that is no parameter of the chart."""
    pytest.importorskip("altair")
    (tmp_path / "spec.json").write_text('{"mark": "point"}')
    options: list[dict[str, Any]] = [
        {"spec": str(tmp_path / "spec.json")},
        {"output": "x.png"},
        {"warehouse": 1},
        {"store": "/"},
    ]
    replies = asked(
        server, *(("chart", {"name": "query", "options": {"query": "SELECT 1", **each}}) for each in options)
    )

    assert [(reply.failed, reply.fields["kind"]) for reply in replies] == [(True, "UnknownName")] * 4


@exhaustive
def test_hostile_names_are_data(server: Any) -> None:
    """As text they steer no terminal; the words about a row name them escaped; nothing they say becomes a cure."""
    calls: list[Call] = [
        ("compare", SIDES),
        ("sql", {"query": "SELECT text FROM rejected_records"}),
        ("report", {"run": "candidate"}),
    ]
    calls += [
        ("compare", {"base": f"x. Run: {HOSTILE}", "candidate": "base"}),
        ("explain", {"names": [*SIDES.values(), HOSTILE]}),
    ]
    replies = asked(server, *calls, ("plan", {}))

    assert all(reply.text.isprintable() for reply in replies)
    assert HOSTILE in [row["name"] for row in replies[0].fields["rows"]]
    assert all(row["says"].isprintable() for row in replies[0].fields["rows"])
    assert replies[1].rows("text") == [(HOSTILE,)]
    assert all(caveats.ROWS_ARE_DATA in reply.doubt for reply in replies if not reply.failed)
    assert "Run:" not in str(replies[3].fields["cure"])
    assert caveats.ROWS_ARE_DATA in INSTRUCTIONS and NEVER_CLAIMED in INSTRUCTIONS


def test_a_long_text_is_cut_and_says_so() -> None:
    """Whatever was recorded, an answer stays small."""
    (row,) = plain([{"a": "x" * 5000, "b": ["y" * 3000] * 2000, "c": {"z" * 3000: 1}}])

    assert row["a"].endswith("… (3,000 characters more)")
    assert (len(row["b"]), len(row["b"][0]), len(next(iter(row["c"])))) == (1000, 2000 + 25, 2000 + 25)


@pytest.mark.parametrize(
    ("limits", "query", "what"),
    first_of(1, [
        ({"seconds": 0.05}, "SELECT sum(a.range * b.range) FROM range(10000000) a, range(10000000) b", "longer than 0.05 s"),
        ({"memory_bytes": 4 * 10**8}, "SELECT list(range) FROM range(3000000000)", "more than 0.4 GB of memory"),
        ({"memory_bytes": 4 * 10**8}, "SELECT list_sum(list_transform(range(0, 300000000), lambda x: x * 2))", "0.4 GB"),
        ({"seconds": 1}, "SELECT repeat('x', 2000000000)", "longer than 1 s"),
    ]),
)  # fmt: skip
def test_a_query_that_takes_too_much_is_ended(store: Store, limits: dict[str, Any], query: str, what: str) -> None:
    """Of time or memory, also in a function that DuckDB does not break off; the server answers the next question."""
    server = build_server(Questions(OpenStore(store, sandbox=True), replace(LIMITS, **limits)))
    began = time.monotonic()
    reply, after = asked(server, ("sql", {"query": query}), ("views", {}))

    assert what in reply.fields["what"]
    assert not after.failed
    assert time.monotonic() - began < 60


def test_the_sql_of_a_chart_keeps_to_the_limits(store: Store) -> None:
    """It is a client's, too."""
    server = build_server(Questions(OpenStore(store, sandbox=True), replace(LIMITS, seconds=0.5)))
    slow = "SELECT a.range AS x, sum(a.range * b.range) AS y FROM range(10000000) AS a, range(10000000) AS b GROUP BY 1"
    (reply,) = asked(server, ("chart", {"name": "query", "options": {"query": slow, "x": "x", "y": "y"}}))

    assert reply.fields["what"] == "the query took longer than 0.5 s."


def test_arguments_that_do_not_fit_are_refused(server: Any) -> None:
    """In bench's words: the nearest name, what is missing, what is wanted; nothing of the library that found it."""
    replies = asked(
        server, ("sql", {}), ("sql", {"query": "SELECT 1", "limit": "many"}), ("sql", {"qeury": "SELECT 1"}),
        ("plan", {"detect": "a lot"}), ("compare", {"base": "a", "candidate": "b", "where": [1]}), ("rm", {}),
        ("sqll", {"query": "SELECT 1"}),
    )  # fmt: skip

    assert [reply.fields["message"] for reply in replies] == [
        "the tool sql needs query.", 'limit of the tool sql is "many": it is a whole number.',
        "no argument 'qeury' in the tool sql. Nearest: 'query'.", 'detect of the tool plan is "a lot": it is a number.',
        "where of the tool compare is [1]: it is an object.", "no tool 'rm'. Known: 'views', 'sql', 'show' and 8 more.",
        "no tool 'sqll'. Nearest: 'sql'.",
    ]  # fmt: skip
    assert all(reply.failed and "pydantic" not in reply.text for reply in replies)


def listed(server: Any) -> dict[str, Any]:
    """The tools of a server by name."""

    async def talk() -> dict[str, Any]:
        async with mcp.Client(server) as client:
            return {tool.name: tool for tool in (await client.list_tools()).tools}

    tools: dict[str, Any] = anyio.run(talk)
    return tools


def test_tools_say_what_they_are(server: Any) -> None:
    """Each with a description, a schema of its answer, and that it only reads; none measures."""
    tools = listed(server)

    assert set(tools) == set(ASKING)
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools.values())
    assert all("doubt" in tool.output_schema["properties"] for tool in tools.values())


ALLOWED = (
    "bench measure command --repeat 2 -- sleep 0.001",
    "measure function json:dumps --arg obj=1 --config own --repeat 2",
)


@pytest.fixture
def measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Any, Store]]:
    """A server that may run two commands, and its store."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / ".types"))
    monkeypatch.chdir(tmp_path)
    store = Store(tmp_path / ".bench").create()
    opened = OpenStore(store, sandbox=True)
    yield build_server(Questions(opened), AllowedMeasurements(ALLOWED, _run_bench, opened)), store


def test_only_listed_commands_are_measured(measuring: tuple[Any, Store]) -> None:
    """As they stand; the label is the only thing to choose, and it is a label whatever it looks like."""
    server, _ = measuring
    command = listed(server)["measure"].input_schema["properties"]["command"]
    assert command["enum"] == list(ALLOWED)
    refused = ["measure command -- touch new", f"{ALLOWED[0]} --shell", ALLOWED[0].replace("0.001", "9"), ""]
    label = "--store=/tmp/x; $(touch new)"
    done, *replies = asked(
        server, ("measure", {"command": ALLOWED[0], "config": label}),
        *(("measure", {"command": each}) for each in refused),
        ("measure", {"command": ALLOWED[0], "config": "a\nb"}), ("measure", {"command": ALLOWED[1], "config": "other"}),
        ("sql", {"query": "SELECT config FROM runs"}),
    )  # fmt: skip

    assert not done.failed, done.text
    assert done.rows("status", "runs") == [("ok", 2)]
    assert "one run: what varies from run to run is not in these intervals" in done.doubt
    assert [reply.failed for reply in replies] == [True] * 6 + [False]
    assert replies[-1].rows("config") == [(label,)]
    assert not Path("new").exists()


@exhaustive
def test_a_measurement_past_its_time_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its record is kept."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / ".types"))
    opened = OpenStore(Store(tmp_path / ".bench").create(), sandbox=True)
    slow = "measure command -- sleep 60"
    with pytest.raises(BenchError, match="it took longer than 2 s and was interrupted"):
        AllowedMeasurements((slow,), _run_bench, opened, limit_s=2).measure(slow)

    assert opened.sql("SELECT status FROM run_summaries").rows() == [("interrupted",)]


def _end_of(end: str, server: "subprocess.Popen[str]") -> None:
    assert server.stdin is not None
    if end == "cancelled":
        message = {"method": "notifications/cancelled", "params": {"requestId": 2}}
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        server.stdin.flush()
    elif end == "closed":
        server.stdin.close()
    else:
        server.send_signal(signal.Signals[end])


@pytest.mark.parametrize(
    ("end", "code", "last"),
    first_of(
        1,
        [
            ("SIGTERM", 143, "Error: ended by SIGTERM; everything recorded so far is kept"),
            ("cancelled", 0, "Ctrl-C ends it"),
            ("SIGINT", 130, "Error: interrupted; everything recorded so far is kept"),
            ("closed", 0, "Ctrl-C ends it"),
        ],
    ),
)
def test_what_it_measures_ends_with_it(end: str, code: int, last: str, tmp_path: Path) -> None:
    """By a signal though its client still holds the pipe to its standard input, with its client, and where that cancels it."""
    allowed = "measure command --shell 'echo $$ > pid; touch begun; exec sleep 600'"
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "measure", "arguments": {"command": allowed}}},
    ]
    words = [sys.executable, "-m", "bench", "mcp", "--store", ".bench", "--allow-measure", allowed]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".types")}
    pipe = subprocess.PIPE
    store = Store(tmp_path / ".bench").create()
    with subprocess.Popen(
        words, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe, text=True, cwd=tmp_path, env=environment
    ) as server:
        assert server.stdin is not None and server.stderr is not None
        server.stdin.writelines(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
        server.stdin.flush()
        while not (tmp_path / "begun").exists():
            assert server.poll() is None
            time.sleep(0.05)
        _end_of(end, server)
        if end == "cancelled":
            while Path("/proc", (tmp_path / "pid").read_text().strip()).exists():
                time.sleep(0.05)
            assert server.poll() is None
            server.stdin.close()
        assert server.wait(timeout=120) == code
        assert server.stderr.read().endswith(last + "\n")

    assert OpenStore(store).sql("SELECT status FROM run_summaries").rows() == [("interrupted",)]


@pytest.mark.parametrize(
    "command", ["rm -rf /", "bench sql 'SELECT 1'", "measure", "bench measure command 'unclosed", "bench measure"]
)
def test_what_measures_nothing_cannot_be_allowed(command: str) -> None:
    """The list is of commands of bench measure."""
    with pytest.raises(BenchError, match=r"measures nothing|cannot read the command"):
        measure_words(command)


@exhaustive
def test_over_standard_input_and_output(store: Store, tmp_path: Path) -> None:
    """The command itself, started by the client; what it writes to stdout is the protocol and nothing else."""
    environment = {"PYTHONPATH": str(ROOT / ".types"), "PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    words = ["-m", "bench", "mcp", "--store", str(store.root), "--allow-measure", ALLOWED[0]]
    started = mcp.StdioServerParameters(command=sys.executable, args=words, env=environment, cwd=tmp_path)
    calls: list[Call] = [("compare", LATENCY), ("sql", {"query": "FROM read_text('/etc/passwd')"})]
    compared, refused = asked(started, *calls)

    assert by_name(compared)["gamma"] == "UNSURE"
    assert refused.failed
    assert set(listed(started)) == {*ASKING, "measure"}


def test_without_the_sdk_the_error_says_what_to_install(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an extra."""
    monkeypatch.setitem(sys.modules, "mcp.server", None)

    with pytest.raises(BenchError, match=r"needs mcp, which is not installed. .*bench-warehouse\[mcp\]"):
        build_server(Questions(OpenStore(store)))
