"""Every number of a published site carries the command that makes it, and the command makes that number."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.query.computed import compute
from bench.viz.publish import pairs
from bench.warehouse.events import Environment, Instant, Json, Reject

from ...builders import Builder, case, metric, outcome, run, source, steps, timing
from ..browser import PROGRAM, Page
from .sites import DAY_US, publish
from .test_site_page import go, statement_of, type_into

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium on PATH; install chromium to check pages"),
]
NIGHTS = 24
MODELS = ("bert", "mlp", "resnet", "dlrm", "alexnet")
# What a text with a digit may be: what something is called, which is no number, or part of what has a command of its own.
AXES = "td:is([data-h=batch], [data-h=length], [data-h=parameters], [data-h=setting])"
NAMED = f"a, h1, th, option, pre, .copy, .axes, .zoom, {AXES}"
WALK = f"""(() => {{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  for (let text; (text = texts.nextNode()); ) {{
    const holder = text.parentElement;
    if (/\\d/.test(text.data) && !holder.closest(`[hidden], script, style, noscript, {NAMED}`) && !holder.closest('[data-q]'))
      found.push(`${{holder.tagName}}: ${{text.data}}`);
  }}
  return found;
}})()"""
HIDDEN = ("memory", "cpu_time", "runs")  # in metrics that a row stands for, or in reasons that all rows have
COUNT = re.compile(r"([\d,]+)(?: of [\d,]+ rows| \w+)*$")
CARRIED = """[...document.querySelectorAll('main [data-q]')].filter(one => !one.closest('[hidden]'))
  .map(one => [one.textContent, one.dataset.q])"""


@pytest.fixture(scope="module")
def warehouse() -> Builder:
    """Nights with a change of three models and one of another that ended; failures, rejects, steps, and processor times."""
    made = Builder()
    made.add(
        Environment(
            environment_id="lab", cpu="EPYC 7763", logical_cores=64, ram_bytes=2**38, packages=Json('{"torch": "2.9"}')
        )
    )
    for night in range(NIGHTS):
        run_id, began = f"night-{night:03}", Instant(DAY_US * (night + 1))
        made.add(
            run(run_id, "nightly", started_at=began, git_commit=f"{night:02x}" * 20, host="lab", environment_id="lab")
        )
        for place, name in enumerate(MODELS):
            one = case(name, run_id, suite="zoo", backend="inductor", device="cpu", batch_size=8 * (place + 1))
            fails = name == "alexnet" and night in (12, 23)
            made.add(one, outcome(one, "fail_to_run" if fails else "ok", exit_code=139 if fails else None))
            slower = 1.2 if night >= 16 and place < 3 else 1.3 if name == "dlrm" and night in (5, 6) else 1.0
            value = 1e6 * (place + 1) * (1 + 0.001 * ((night * 7 + place) % 5)) * slower
            if not fails:
                for each, unit, better in (("latency", "ns", "lower"), ("memory", "bytes", "lower")):
                    made.add(metric(one, each, value, unit=unit, better=better))
    made.add(
        source("s", lines=3, run="night-023", rejected=1), Reject(source_id="s", run_id="night-023", line=3, reason="r")
    )
    for place, server in enumerate(("server-A", "server-B")):
        made.add(run(server, server, started_at=Instant(DAY_US * 90)), source(run=server, lines=400, config=server))
        sizes = [1 + 37 * k % 900 for k in range(400)]
        made.add(*steps(server, sizes, [(5 + 0.02 * size) * (1 + 0.1 * place) for size in sizes]))
    for sampled in ("sampled-A", "sampled-B"):  # values with intervals, and processor times beside them
        one = case("accurate", sampled, suite="numbers")
        made.add(run(sampled, sampled, started_at=Instant(DAY_US * 3)), one, outcome(one))
        for name in ("latency", "cpu_time"):
            made.add(*(timing(one, 1_000_000 + 9 * block, block=block, metric=name) for block in range(8)))
    return made


@pytest.fixture(scope="module")
def folder(warehouse: Builder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Its site."""
    root = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patched:
        of = [
            ("night-022", "night-023"),
            ("server-A", "server-B"),
            ("sampled-A", "sampled-B"),
            ("night-015", "night-016"),
        ]
        patched.setattr(pairs, "chosen", lambda *_: of)
        publish(warehouse, root)
    yield root


def addresses(warehouse: Builder) -> list[str]:
    """A page of each kind."""
    cases = warehouse.rows(
        "SELECT case_id FROM case_axes WHERE name IN ('bert', 'dlrm', 'alexnet', 'accurate') ORDER BY name"
    )
    steps_of = warehouse.rows("SELECT DISTINCT case_id FROM step_cells ORDER BY case_id LIMIT 1")
    pages = ["#/", "#/runs", "#/cases", "#/run/night-023", "#/run/server-A", "#/compare/night-003/night-023"]
    pages += ["#/compare/night-022/night-023", "#/compare/server-A/server-B", "#/compare/sampled-A/sampled-B"]
    return pages + [f"#/case/{case_id}" for (case_id,) in (*cases, *steps_of)]


def test_every_number_of_every_page_has_a_command(browser: Page, folder: Path, warehouse: Builder) -> None:
    """No text of a page has a digit that is neither a name nor in what carries a query."""
    browser.open(folder / "index.html")
    for address in addresses(warehouse):
        go(browser, address)
        assert browser.ask(WALK) == [], address
    assert browser.errors == []


@pytest.mark.exhaustive
def test_every_command_that_is_a_query_gives_its_number(browser: Page, folder: Path, warehouse: Builder) -> None:
    """Of a text that begins with a count its first value is that count; 25 others have rows."""
    browser.open(folder / "index.html")
    asked: dict[str, str] = {}
    for address in addresses(warehouse):
        go(browser, address)
        asked |= {query: text for text, query in browser.ask(CARRIED)}
        if browser.ask("Boolean(document.querySelector('#view .tools input'))"):
            for typed in ("night 2",) if address == "#/runs" else ("bert", *(HIDDEN if "/compare/" in address else ())):
                type_into(browser, "#view .tools input", typed)
                asked |= {query: text for text, query in browser.ask(CARRIED)}
    queries = {statement_of(query): text for query, text in asked.items() if query.startswith("bench sql ")}
    counts = {
        statement: told for statement, text in queries.items() if "count(" in statement and (told := COUNT.match(text))
    }
    others = random.Random(1).sample([statement for statement in queries if statement not in counts], 25)
    compute(warehouse, "incidents, change_points")  # once, for all queries that name them

    assert {query.split()[1] for query in asked} <= {"sql", "compare", "viz", "history"}
    for statement, told in counts.items():
        assert warehouse.rows(statement)[0][0] == int(told[1].replace(",", "")), (told[0], statement)
    for statement in others:
        assert warehouse.rows(statement), statement
    assert len(counts) > 15
