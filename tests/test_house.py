"""The house: the rules that keep the code findable, checked on the source."""

import ast
import builtins
import functools
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLOORS = {"sql": 0, "warehouse": 1, "query": 2, "measure": 3, "ingest": 3, "viz": 4, "cli": 5, "agents": 5}
MOST_FILES = 25  # in one folder
LONG = 400  # lines of a file that needs no reason
MANY_FILES = {"ingest/formats", "tests/ingest/formats"}  # one file a format


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name below `bench`; the package itself is ''."""
    found = [*ROOT.glob("*.py"), *(path for room in FLOORS for path in (ROOT / room).rglob("*.py"))]
    named = {}
    for path in sorted(found):
        parts = path.relative_to(ROOT).with_suffix("").parts
        named[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return named


@functools.cache
def tree(path: Path) -> ast.Module:
    """The parsed source of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below this one but those under `if TYPE_CHECKING`."""
    left = [node]
    while left:
        for child in ast.iter_child_nodes(left.pop()):
            if not (
                isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"
            ):
                yield child
                left.append(child)


@functools.cache
def imports(name: str) -> set[str]:
    """The modules of the package that a module imports, at its top or within a function."""
    path = modules()[name]
    package = name.split(".") if path.name == "__init__.py" and name else name.split(".")[:-1]
    found = set()
    for node in executed(tree(path)):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
        for alias in node.names:
            inner, outer = ".".join([*base, alias.name]), ".".join(base)
            found.add(inner if inner in modules() else outer)
    return (found & modules().keys()) - {name}


def floor(name: str) -> int:
    """How high a module stands: modules at the root are above all rooms, except `_version` and `_exports`, which all may use."""
    return -1 if name in ("_version", "_exports") else FLOORS.get(name.split(".")[0], FLOORS["cli"])


def test_no_module_imports_itself_by_way_of_others() -> None:
    """Imports within functions count: a circle that is imported late is a circle."""
    graph = {name: imports(name) for name in modules()}

    assert {name for name in graph if name in reached(graph, name)} == set()


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """All that is imported from here, directly or by way of others."""
    found: set[str] = set()
    ahead = [*graph[start]]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead += graph[name]
    return found


def test_a_room_imports_only_from_floors_below() -> None:
    """sql ◀ warehouse ◀ query ◀ measure, ingest ◀ viz ◀ cli, agents."""
    against = {
        (name, there)
        for name in modules()
        for there in imports(name)
        if name.split(".")[0] != there.split(".")[0] and floor(there) >= floor(name)
        if floor(name) < FLOORS["cli"]
    }

    assert against == set()


def test_no_room_starts_bench_to_reach_another() -> None:
    """A lower room is handed the functions of a higher one; only `measure` starts processes, and those are workers."""
    starts = {
        str(path.relative_to(ROOT))
        for name, path in modules().items()
        if "." in name
        for before, after in pairs_of_words(path)
        if before == "-m" and after == "bench"
    }

    assert starts == set()


def pairs_of_words(path: Path) -> Iterator[tuple[object, object]]:
    """Every two neighbours in a list or tuple that is written out."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.List | ast.Tuple):
            words = [item.value if isinstance(item, ast.Constant) else None for item in node.elts]
            yield from itertools.pairwise(words)


def test_no_class_name_stands_for_two_things() -> None:
    """One concept, one name; one name, one concept."""
    places = defaultdict(set)
    for name, path in modules().items():
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].add(name)

    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_no_constant_that_modules_share_stands_for_two_things() -> None:
    """A constant that another module imports by its name is the only one of that name which any does."""
    shared = defaultdict(set)
    for name in modules():
        for where, constant in constants_imported(name):
            shared[constant].add(where)

    assert len(shared) > 200
    assert {constant: where for constant, where in shared.items() if len(where) > 1} == {}


def constants_imported(name: str) -> Iterator[tuple[str, str]]:
    """The constants that a module imports from others, each with the module it is of."""
    path = modules()[name]
    package = name.split(".") if path.name == "__init__.py" and name else name.split(".")[:-1]
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            yield from ((".".join(base), alias.name) for alias in node.names if alias.name.isupper())


def test_a_class_is_named_by_a_noun() -> None:
    """A participle is left to errors: of what failed, ended or is closed there is nothing else to name."""
    participles = {
        node.name
        for path in modules().values()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef) and node.name.endswith("ed")
        and not any(ast.unparse(base).endswith(("Error", "Exception", "Failed", "Failure")) for base in node.bases)
    }  # fmt: skip

    assert participles == {"Declared", "Omitted", "TorchExpected"}  # formats of other packages derive from the first


def test_no_folder_is_crowded() -> None:
    """At most 25 files lie in a folder of code or of tests."""
    crowded = set()
    for top in (*FLOORS, "tests"):
        for folder in {path.parent for path in (ROOT / top).rglob("*") if path.suffix in {".py", ".sql"}}:
            files = [path for path in folder.iterdir() if path.is_file()]
            if len(files) > MOST_FILES:
                crowded.add(str(folder.relative_to(ROOT)))

    assert crowded <= MANY_FILES


def test_a_long_file_says_why() -> None:
    """A file above 400 lines has a sentence "This file is long because …" in its docstring."""
    long = {
        name
        for name, path in modules().items()
        if len(path.read_text(encoding="utf-8").splitlines()) > LONG
        and "This file is long because" not in " ".join((ast.get_docstring(tree(path)) or "").split())
    }

    assert long == set()


# Modules whose queries compute more than a selection, and what they are composed of.
COMPOSES = {
    "ingest.formats._trace_rows": "the columns and parts of a trace file, none of which is in the warehouse",
    "ingest.user_formats.compiled": "the rows of a file by a user's mapping, none of which is in the warehouse",
    "ingest.user_formats.row_sql": "the columns of that file",
    "query.change.series": "the series that a user chooses",
    "query.explain.evidence": "the cell that a user asks about, as statements that can be run again",
    "query.explain.explain": "the name of a case as a user writes it, and files that it came from",
    "query.report_sections": "two runs that a user names",
    "viz.bands": "the points of a chart",
    "viz.charts.distribution": "the sides and filters of a chart",
    "viz.charts.memory_timeline": "the filters of a chart and its width",
    "viz.charts.pass_rate": "the filters of a chart",
    "viz.charts.runtime_vs_tokens": "the filters of a chart, and which of its points are drawn",
    "viz.charts.throughput": "the filters of a chart and its resolution",
    "viz.charts.timeline": "the filters of a chart and its width",
    "viz.charts.usage": "the filters of a chart",
    "viz.data": "the filters of a chart and how many cases it shows",
    "viz.downsample": "the query of a chart and how many points it draws",
    "viz.query_rows": "the query of a user",
    "warehouse.upkeep.archive": "the files of the event log that hold some runs",
    "warehouse.upkeep.compaction": "the files of the event log that are merged",
    "warehouse.upkeep.verify": "all tables of events",
    "warehouse.views": "the runs that a load concerns",
    "query.engines.spark_views": "the runs that a load concerns: in Spark all of them",
}
_SQL = re.compile(r"\s*(WITH|SELECT|FROM|INSERT|CREATE)\b[\s\S]*\n[\s\S]*\b(FROM|SELECT|AS)\b")
_COMPUTES = re.compile(r"\b(WITH|JOIN|GROUP BY|UNION|OVER|QUALIFY|UNPIVOT)\b")


def test_one_module_formats_percentages() -> None:
    """Signs, digits and the space before % are those of `warehouse/console/numbers.py`."""
    by_hand = [f"{name}:{line}" for name, path in modules().items() for line in percentages(tree(path))]
    assert [found for found in by_hand if not found.startswith("warehouse.console.numbers:")] == []
    assert [*percentages(ast.parse("f'{x:.1%}', f'{100 * x:+.1f} % of', f'{x} (95 % {y})'"))] == [1, 1]


UNITS = re.compile(r" ?(ns|µs|us|ms|s|min|h|B|kB|[KMGT]i?B)\b")


def test_one_module_formats_durations_and_sizes() -> None:
    """Digits, unit and the space before it are those of `warehouse/console/numbers.py`; a limit is written as it was given."""
    by_hand = [f"{name}:{line}" for name, path in modules().items() for line in quantities(tree(path))]
    assert [found for found in by_hand if not found.startswith("warehouse.console.numbers:")] == []
    assert [*quantities(ast.parse("f'{x:.1f} ms', f'{x:,.0f} kB', f'{limit:g} s', f'{x:.1f} steps'"))] == [1, 1]


def quantities(module: ast.Module) -> Iterator[int]:
    """The lines whose f-strings round a number and put a unit of time or size behind it."""
    for text in (node for node in ast.walk(module) if isinstance(node, ast.JoinedStr)):
        for part, after in itertools.pairwise(text.values):
            if isinstance(part, ast.FormattedValue) and part.format_spec and isinstance(after, ast.Constant):
                spec = ast.unparse(part.format_spec).rstrip("'\"")
                if spec.endswith("f") and UNITS.match(str(after.value)):
                    yield text.lineno


def percentages(module: ast.Module) -> Iterator[int]:
    """The lines whose f-strings format a number as a percentage."""
    for text in (node for node in ast.walk(module) if isinstance(node, ast.JoinedStr)):
        for part, after in itertools.zip_longest(text.values, text.values[1:]):
            if isinstance(part, ast.FormattedValue):
                spec = ast.unparse(part.format_spec) if part.format_spec else ""
                follows = str(after.value) if isinstance(after, ast.Constant) else ""
                if spec.rstrip("'\"").endswith("%") or follows.lstrip(" ").startswith("%"):
                    yield text.lineno


def test_queries_lie_in_sql() -> None:
    """A query of more than one line that computes lies in sql/, where anyone can read and select it.

    Python selects from views, filters and orders; what a user's filters compose is listed.
    """
    found = {
        name
        for name, path in modules().items()
        if any(_SQL.match(text) and _COMPUTES.search(text) for text in texts(path))
    }

    assert found == COMPOSES.keys()


def texts(path: Path) -> Iterator[str]:
    """Every text in a source file; what an f-string interpolates is an x."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield str(node.value)


def test_a_docstring_that_describes_parameters_describes_all_and_no_others() -> None:
    """The section Args of a function names what the function takes."""
    wrong = {
        f"{name}.{function.name}": set(described) ^ set(taken)
        for name, path in modules().items()
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for described, taken in [(names_under("Args", function), parameters(function))]
        if described and described != taken
    }

    assert wrong == {}


def names_under(heading: str, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> list[str]:
    """The names that a section of a docstring describes."""
    section = re.search(rf"^{heading}:\n((?: {{4}}.*\n|\n)+)", f"{ast.get_docstring(node)}\n", re.MULTILINE)
    return re.findall(r"^ {4}\**(\w+):", section[1], re.MULTILINE) if section else []


def parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """The names of what a function takes, but for the object or class of a method."""
    a = function.args
    taken = [*a.posonlyargs, *a.args, *filter(None, [a.vararg]), *a.kwonlyargs, *filter(None, [a.kwarg])]
    return [one.arg for one in taken if one.arg not in ("self", "cls")]


def test_a_docstring_names_errors_that_exist() -> None:
    """Under `Raises:` stand classes of the package, of Python, or with a dot those of a library."""
    known = {
        node.name for path in modules().values() for node in ast.walk(tree(path)) if isinstance(node, ast.ClassDef)
    }
    unknown = {
        (name, error)
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        for error in names_under("Raises", node)
        if error not in known and not hasattr(builtins, error)
    }
    assert not unknown


def test_the_docstring_of_a_test_is_a_claim() -> None:
    """It is a sentence with a subject: a relative clause such as "What …" claims nothing."""
    vague = re.compile(r"(What|Whether|How|Why|Where)\b")
    functions = [
        (path, node)
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]

    assert len(functions) > 2000
    assert [f"{path.name}: {node.name}" for path, node in functions if vague.match(ast.get_docstring(node) or "")] == []


def test_a_docstring_begins_with_a_noun_or_a_verb() -> None:
    """None begins with Of or By, which want the noun before them, or with the clause that a noun would name.

    "What …", "Whether …" or "How …" is left to the help of questions and charts, which people ask so.
    """
    clause = re.compile(r"(What|Whether|How|Why|Where|When|Which|Who|Whose|Of|By|As|From|For|In|So|That|There)\b")
    described = [
        (f"{name}: {getattr(node, 'name', '')}", ast.get_docstring(node) or "")
        for name, path in modules().items()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not is_help(node)
    ]

    assert len(described) > 4000
    assert [where for where, text in described if clause.match(text)] == []


def is_help(node: ast.AST) -> bool:
    """True of a question and of the function of a chart, whose docstrings are the help of a command."""
    if isinstance(node, ast.ClassDef):
        return any("Question" in ast.unparse(base) for base in node.bases)
    return getattr(node, "name", "") == "draw"


def test_what_the_rules_find_is_there() -> None:
    """The rules read the source they are meant to read."""
    assert {"warehouse.events", "measure.engine.estimate", "cli"} <= modules().keys()
    assert "warehouse.errors" in imports("warehouse.store")
    assert reached({"a": {"b"}, "b": {"a"}}, "a") == {"a", "b"}
    described = [
        names_under("Args", node)
        for node in ast.walk(tree(modules()["warehouse.load"]))
        if isinstance(node, ast.FunctionDef)
    ]
    assert ["store", "wait", "notify", "force"] in described
