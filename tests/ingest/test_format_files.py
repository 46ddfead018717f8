"""Formats in TOML: those of a project, by columns of a table or keys of a document; broken ones are named."""

import json
import re
from pathlib import Path

import pytest
from bench.ingest.plan import SourceOptions
from bench.ingest.readers.files import read_head
from bench.ingest.registry import formats
from bench.ingest.run import IngestReport, ingest
from bench.ingest.user_formats.format_files import format_of_file
from bench.ingest.user_formats.mapped import MappedFormat
from bench.ingest.user_formats.mapping import parse_mapping
from bench.warehouse.errors import BenchError
from bench.warehouse.store import Store

from ..exhaustive import exhaustive, first_of
from ..test_docs import ROOT
from .conftest import Load, Rows
from .formats.reading import lay, read_file

pytestmark = pytest.mark.usefixtures("nothing_derived")

TABLE = """
recognise.columns = ["kernel", "gpu", "us"]
doc = "kernels of our nightly"
name = "kernel"
device = "gpu"
value = { column = "us", unit = "us" }
"""
DOCUMENT = r"""
recognise.keys = ["tool", "results[].model"]
doc = "results of our tool"
records = "results"
name = "model"
dtype = "precision"
suite = { text = "serving" }
parameters = { users = "load.users" }
time = "date"
about = { gpus = "machine.gpu" }
value = [
    { column = "seconds", unit = "s", apart = true },
    { match = 'stats\.(p\d+|mean)_ms', metric = "latency", unit = "ms", statistic = '\1' },
]
"""
ROWS = "kernel,gpu,us\nadd,h200,12.5\nmul,h200,3\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two formats of its own, and the working directory in it."""
    lay(tmp_path, {"bench.toml": 'mappings = "maps"\n', "maps/kernels.toml": TABLE, "maps/tool.toml": DOCUMENT,
                   "maps/plain.toml": 'name = "model"\nvalue = "ms"\n'})  # fmt: skip
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("derived")
@pytest.mark.parametrize(
    ("name", "content"),
    first_of(1, [
        ("a.csv", ROWS),
        ("a.txt", ROWS.replace(",", ";")),
        ("a.json", [{"kernel": "add", "gpu": "h200", "us": 12.5}, {"kernel": "mul", "gpu": "h200", "us": 3}]),
        ("a.jsonl", '{"kernel": "add", "gpu": "h200", "us": 12.5}\n{"kernel": "mul", "gpu": "h200", "us": 3}\n'),
    ]),
)  # fmt: skip
def test_a_table_with_these_columns_is_read_by_its_mapping(
    project: Path, load: Load, rows: Rows, name: str, content: object
) -> None:
    """Nobody has to say `--map`; and it is the same as with it: what was loaded so is known."""
    lay(project, {f"night/{name}": content})
    assert [line.loaded for line in load(project / "night").lines] == [2]

    said = "SELECT name, device, median FROM cells ORDER BY name"
    assert rows(said) == [("add", "h200", 12_500.0), ("mul", "h200", 3_000.0)]
    kind = MappedFormat(parse_mapping(["@kernels"]))
    assert [kind.name] == [
        each.name for each in formats().values() if each.recognise(read_head(project / "night" / name))
    ]


@exhaustive
def test_what_was_loaded_by_its_columns_is_known_to_map(project: Path, store: Store) -> None:
    """And with an edited mapping it is loaded anew."""
    lay(project, {"night/a.csv": ROWS})

    def loaded(*maps: str) -> IngestReport:
        own = MappedFormat(parse_mapping(maps)) if maps else None
        return ingest(store, [str(project / "night" / "a.csv")], sources=SourceOptions(own=own))

    assert [(line.loaded, line.known) for line in loaded().lines] == [(2, 0)]
    assert [(line.loaded, line.known) for line in loaded("@kernels").lines] == [(0, 2)]
    assert [(line.loaded, line.known) for line in loaded("@kernels", "mode:=inference").lines] == [(2, 0)]


@exhaustive
def test_a_document_with_these_keys_is_read_by_its_file(project: Path, load: Load, rows: Rows) -> None:
    """Its records are cases; what is left is kept, and each record is accounted for."""
    record = {
        "model": "m",
        "precision": "bf16",
        "load": {"users": 4},
        "seconds": [0.5, 0.25],
        "stats": {"p99_ms": 2},
        "x": 1,
    }
    about = {"tool": "t", "date": "2026-05-01T10:00:00Z", "machine": {"gpu": "H200"}}
    lay(project, {"night/a.json": about | {"results": [record, 5]}})
    (line,) = load(project / "night").lines

    assert (line.lines, line.loaded, line.rejected) == (2, 1, 1)
    assert rows("SELECT name, suite, dtype, parameters FROM cases") == [("m", "serving", "bf16", '{"users": 4}')]
    assert rows("SELECT duration_ns FROM timings ORDER BY sample") == [(500_000_000,), (250_000_000,)]
    assert rows("SELECT value FROM metrics WHERE statistic = 'p99'") == [(2e6,)]
    assert rows("SELECT original_value FROM metrics WHERE metric = 'fields'") == [('{"x": 1}',)]


def test_records_in_lists_of_lists_inherit_from_what_they_are_in(project: Path, load: Load, rows: Rows) -> None:
    """The first of the paths that says something counts; fields that are omitted are not kept."""
    lay(project, {
        "maps/nested.toml": """
            recognise.keys = ["files[].groups[].runs"]
            records = "files[].groups[].runs"
            name = "name"
            suite = "suite"
            inherited.suite = ["files[].groups[].title", "files[].path"]
            omitted = ["id"]
            value = [{ column = "ms", metric = "latency", unit = "ms" }]
        """,
        "night/a.json": {"files": [{"path": "f", "groups": [
            {"title": "g", "runs": [{"name": "a", "id": 1, "ms": 2}]},
            {"title": "", "runs": [{"name": "b", "id": 2, "ms": 3}, 5]},
        ]}]},
    })  # fmt: skip
    (line,) = load(project / "night").lines

    assert (line.lines, line.loaded, line.rejected) == (3, 2, 1)
    assert rows("SELECT suite, name, value FROM cases JOIN metrics USING (case_id) ORDER BY ALL") == [
        ("f", "b", 3e6), ("g", "a", 2e6),
    ]  # fmt: skip


def test_a_mapping_without_a_sign_of_its_files_is_none(project: Path) -> None:
    """It is for `--map @plain` alone."""
    assert format_of_file(project / "maps" / "plain.toml") is None


def test_the_format_of_the_project_counts_before_those_of_bench(project: Path, load: Load) -> None:
    """It is about its own files; between two of bench the user has to choose."""
    lay(project, {"maps/ours.toml": 'recognise.columns = ["model", "batch_size", "result"]\nname = "model"\nvalue = "result"\n',
                  "night/t.csv": "model,batch_size,sequence_length,result\nm,1,1,0.5\n"})  # fmt: skip

    assert [line.format[:4] for line in load(project / "night").lines] == ["map-"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("recognise.keys = [", "not valid TOML"),
        ("recognise = 5", "recognise = 5: expected recognise.columns or recognise.keys"),
        ("recognise.colums = ['a']", "'colums'.*Nearest: 'columns'"),
        ("recognise.keys = []", r"recognise.keys = \[\]: expected a text or a list of texts"),
        ("recognise.keys = ['a']\nnamee = 'b'", "'namee'.*Nearest: 'name'"),
        ("recognise.keys = ['a']\nlines = 1", "lines = 1: expected true or false"),
        ("recognise.keys = ['a']\nvalue = 'b'", "value = 'b': expected a list of tables"),
        ("recognise.keys = ['a']\nvalue = [{ unit = 'ms' }]", "expected a column, or match and metric"),
        ("recognise.keys = ['a']\nvalue = [{ match = '(', metric = 'm' }]", "expected a regular expression"),
        ("recognise.keys = ['a']\nvalue = [{ match = 'a', metric = '\\\\2' }]", "expected a metric.* of groups up to 0"),
        ("recognise.keys = ['a']\nvalue = [{ column = 'b', better = 'less' }]", "'less'"),
        ("recognise.keys = ['a']\nvalue = [{ column = 'b', block = true }]", "block = True: expected a whole number"),
        ("recognise.keys = ['a']\nrecords = 'a[].b'\ninherited.c = 'd[].e'", "inherited.c = 'd.*: expected a field"),
        ("recognise.columns = ['a']\nname = 'a'", "nothing is measured"),
        ("recognise.columns = 'a'\nname = 'a'\nvalue = 'b'\nunits = 'ms'", "'units'.*Nearest: 'unit'"),
    ],
)  # fmt: skip
def test_a_broken_file_is_named(project: Path, text: str, error: str) -> None:
    """With its key; nothing is guessed."""
    lay(project, {"maps/broken.toml": text})
    with pytest.raises(BenchError, match=error) as raised:
        formats()
    assert "broken.toml" in str(raised.value)


def test_the_examples_of_the_pages_read_such_a_file(tmp_path: Path) -> None:
    """The table of docs/ingest.md, and the document of CONTRIBUTING.md."""
    for page, content in (
        ("docs/ingest.md", "kernel,gpu,ms,p99_ms\nadd,h200,0.5,0.75\n"),
        ("CONTRIBUTING.md", json.dumps({"tool": "t", "results": [{"model": "m", "stats": {"p99_ms": 2}}]})),
    ):
        (text,) = re.findall(
            r"```toml\n(# [^\n]*\nrecognise.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL
        )
        lay(tmp_path, {"x.toml": text, "data": content})
        kind = format_of_file(tmp_path / "x.toml")

        assert kind is not None and kind.recognise(read_head(tmp_path / "data"))
        read = read_file(kind, tmp_path / "data")
        assert (read.accounting, read.metrics()["latency_p99"]) == (
            (1, 1, 0),
            (750_000.0 if "docs" in page else 2e6, "ns"),
        )
