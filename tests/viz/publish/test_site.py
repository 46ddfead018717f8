"""Files of a site: written so that it is whole at any moment, only where something differs, and without what is private."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from bench.cli import cli
from bench.query.comparison import render
from bench.query.comparison.compare import compare
from bench.query.comparison.sides import find_sides
from bench.viz.publish import feeds, private, site, tiles
from bench.viz.publish.contents import LOST
from bench.viz.publish.folder import SiteFolder, sealed
from bench.viz.publish.incidents import Incident
from bench.viz.publish.private import shortened
from bench.warehouse.errors import BenchError
from bench.warehouse.events import Environment, Instant
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from ...builders import Builder, case, metric, outcome, run, timing
from ...exhaustive import exhaustive, first_of, sampled
from ..stores import HOSTILE
from .sites import DAY_US, contents, data, nights, publish

SITE = "https://team.example/bench"


def names(folder: Path) -> set[str]:
    """Of all files."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@exhaustive
def test_publishing_again_writes_nothing_new(tmp_path: Path) -> None:
    """Not one file is written if nothing was measured meanwhile, and no byte is told to be new."""
    warehouse = Builder().add(*nights())
    publish(warehouse, tmp_path)
    before = {name: (tmp_path / name).stat().st_mtime_ns for name in names(tmp_path)}
    again = publish(warehouse, tmp_path)

    assert {name: (tmp_path / name).stat().st_mtime_ns for name in names(tmp_path)} == before
    assert again.written_bytes == 0


@exhaustive
def test_one_more_night_changes_only_its_own_tiles(tmp_path: Path) -> None:
    """Blocks of older runs keep their files; what nobody names any more is gone."""
    publish(Builder().add(*nights(200)), tmp_path)
    before = names(tmp_path)
    publish(Builder().add(*nights(201)), tmp_path)
    after = names(tmp_path)

    old = {name for name in before if "/tile-" in name}
    assert len(old & after) >= len(old) - 1 > 1
    assert len([name for name in after if "/runs-" in name]) == 1


@pytest.mark.exhaustive
def test_a_verdict_stands_until_its_runs_change(tmp_path: Path) -> None:
    """A new night judges its own pair and says of the others how many runs they knew; a repeat of a side judges that anew."""
    publish(Builder().add(*nights(14)), tmp_path)
    assert {one["known"] for one in data(tmp_path, "pair")} == {14}

    publish(Builder().add(*nights(15)), tmp_path)
    known = [one["known"] for one in data(tmp_path, "pair")]
    assert (set(known), known.count(15)) == ({14, 15}, 1)

    again = run("again", "nightly", started_at=Instant(DAY_US * 14 + 1), git_commit="0d" * 20)  # repeats the base
    publish(Builder().add(*nights(15), again), tmp_path)
    assert {one["known"] for one in data(tmp_path, "pair")} == {14, 16}


def test_a_run_that_comes_late_moves_no_other_block() -> None:
    """Blocks end where the id of a run says so: an older run changes the block it falls into and no other."""
    generator = random.Random(1)
    runs = [f"{generator.getrandbits(64):x}" for _ in range(500)]
    before = {tuple(block) for block in tiles.divide(runs)}
    after = {tuple(block) for block in tiles.divide([*runs[:240], "late", *runs[240:]])}

    assert len(before - after) <= 3
    assert max(map(len, after)) <= 64


@pytest.mark.exhaustive
@pytest.mark.parametrize("at", sampled([1, 4, 99], 4))
def test_an_interrupted_publishing_leaves_the_old_site(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    """Whenever it ends, every file that the page names is there and is as it was; the next publishing tidies up."""
    folder, fresh = tmp_path / "site", tmp_path / "fresh"
    publish(Builder().add(*nights(12)), folder)
    before = {name: (folder / name).read_bytes() for name in names(folder)}
    write: Callable[..., None] = SiteFolder._write
    count = 0

    def interrupted(self: SiteFolder, name: str, content: bytes, **options: Any) -> None:
        nonlocal count
        count += 1
        if count == at or name == "index.html":
            raise KeyboardInterrupt
        write(self, name, content, **options)

    with monkeypatch.context() as patched:
        patched.setattr(SiteFolder, "_write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            publish(Builder().add(*nights(14)), folder)
    lasting = {name: content for name, content in before.items() if name.startswith("data/") or name == "index.html"}
    assert {name: (folder / name).read_bytes() for name in lasting} == lasting

    publish(Builder().add(*nights(14)), folder)
    for count in (12, 14):
        publish(Builder().add(*nights(count)), fresh)
    assert {name: (folder / name).read_bytes() for name in names(folder)} == {
        name: (fresh / name).read_bytes() for name in names(fresh)
    }


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    """Nothing of it is touched."""
    (tmp_path / "thesis.tex").write_text("mine")

    with pytest.raises(BenchError, match="did not write"):
        publish(Builder().add(*nights(2)), tmp_path)
    assert names(tmp_path) == {"thesis.tex"}


@pytest.mark.exhaustive
def test_a_list_of_files_that_names_others_removes_none(tmp_path: Path) -> None:
    """Whoever wrote the list, files outside the folder stay."""
    (tmp_path / "precious").write_text("mine")
    folder = tmp_path / "site"
    folder.mkdir()
    listed = {"kind": "bench site", "files": {"../precious": 4, f"{tmp_path}/precious": 4}, "kept": {}}
    (folder / "site.json").write_bytes(sealed(listed))
    assert SiteFolder.open(folder).before == listed
    publish(Builder().add(*nights(2)), folder)

    assert (tmp_path / "precious").read_text() == "mine"


def test_what_is_private_is_nowhere_in_it(tmp_path: Path) -> None:
    """Neither host nor user, command, tag, branch's path, variable, path nor what a program wrote stands in any file."""
    warehouse = Builder().add(
        *nights(12, host="SECRET-host", command="bench measure SECRET", tags='{"who": "SECRET"}', environment_id="e")
    )
    one = case("/home/SECRET/run.sh --key=v", "night-000", suite="zoo")
    fails = case("bert", "night-011", suite="zoo", backend="inductor", device="cpu")  # in a pair that is judged
    told = {"reason": "SECRET; base SECRET; candidate OOM: SECRET", "message": "SECRET", "stderr_tail": "SECRET"}
    warehouse.add(
        one, outcome(one, "fail_to_run", **told), outcome(fails, "OOM", **told),
        run("mail", "of SECRET@example.org", host="SECRET-host"),
        *(metric(case("API_KEY=SECRET tool", "mail"), "latency", 1e6, unit="ns", better="lower"),),
        case("API_KEY=SECRET tool", "mail"),
    )  # fmt: skip
    publish(warehouse, tmp_path)

    texts = "\n".join(contents(tmp_path))
    assert "SECRET" not in texts
    assert "run.sh" in texts and "API_KEY=…" in texts
    assert '"whys":["candidate OOM",' in texts


@pytest.mark.exhaustive
def test_a_site_depends_on_nothing_that_is_private(tmp_path: Path) -> None:
    """Two stores that differ in such texts alone have the same files: a guess cannot be checked against any checksum."""
    for text in ("one", "another"):
        warehouse = Builder().add(
            *nights(12, host=f"{text}-host", command=text, tags=f'{{"who": "{text}"}}'),
            *(
                outcome(case(name, "night-011", suite="zoo", backend="inductor", device="cpu"), "OOM", **{field: text})
                for name, field in (("bert", "reason"), ("mlp", "message"), ("resnet", "stderr_tail"))
            ),
        )
        publish(warehouse, tmp_path / text)

    one, another = (
        {name: (tmp_path / text / name).read_bytes() for name in names(tmp_path / text)} for text in ("one", "another")
    )
    assert one == another and len(one) > 10


@pytest.mark.exhaustive
def test_a_manifest_that_somebody_changed_harms_nothing(tmp_path: Path) -> None:
    """Nothing of it is believed: the site is made as from nothing, and what the old one left is gone."""
    warehouse = Builder().add(*nights(12))
    folder, fresh = tmp_path / "site", tmp_path / "fresh"
    for each in (folder, fresh):
        publish(warehouse, each)
    (folder / "site-0123456789ab.css").write_text("of another version")
    manifest = json.loads((folder / "site.json").read_text())
    assert SiteFolder.open(folder).before["kept"] == manifest["kept"]
    kept = {kind: {key: [1] for key in values} for kind, values in manifest["kept"].items()}
    wrong: list[dict[str, Any]] = [{"files": None}, {"files": {"x": []}}, {"kept": 1}, {"seal": None}, {"kept": kept}]
    for changed in wrong:
        (folder / "site.json").write_text(json.dumps(manifest | changed))
        assert SiteFolder.open(folder).before == {}, changed
    publish(warehouse, folder)

    assert {name: (folder / name).read_bytes() for name in names(folder)} == {
        name: (fresh / name).read_bytes() for name in names(fresh)
    }


@pytest.mark.exhaustive
def test_a_change_on_a_machine_that_measures_no_more_has_an_end(tmp_path: Path) -> None:
    """Nights after a new driver are a series of their own: the change is not told to last until today."""
    warehouse = Builder().add(*(Environment(environment_id=each, gpus=["A"], driver=each) for each in ("550", "560")))
    for night in range(40):
        one = case("bert", f"night-{night:03}", suite="zoo", device="cuda")
        begun = Instant(DAY_US * (night + 1))
        warehouse.add(run(one.run_id, "nightly", started_at=begun, environment_id="550" if night < 30 else "560"))
        warehouse.add(one, outcome(one), timing(one, 1_300_000 if night >= 20 else 1_000_000))
    publish(warehouse, tmp_path)

    (told,) = json.loads((tmp_path / "summary.json").read_text())["incidents"]
    assert told["sentence"] == "since 1970-01-22, until 1970-01-31, the last run on that machine"


@pytest.mark.exhaustive
def test_commands_and_queries_shorten_paths_too(tmp_path: Path) -> None:
    """A config, a suite and a model may be named by a path: of an incident, and in the table of suites."""
    warehouse = Builder()
    for night in range(30):
        run_id = f"night-{night:03}"
        warehouse.add(run(run_id, "/home/SECRET/config", started_at=Instant(DAY_US * (night + 1))))
        for backend in ("eager", "inductor"):
            one = case("/home/SECRET/net.py", run_id, suite="/home/SECRET/suite", backend=backend)
            warehouse.add(one, outcome(one), timing(one, 1_200_000 if night >= 20 else 1_000_000))
    publish(warehouse, tmp_path)

    texts = "\n".join(contents(tmp_path))
    assert "SECRET" not in texts
    assert "--configs …/config" in texts and "…/suite" in texts


@pytest.mark.exhaustive
def test_logs_are_published_where_asked_for(tmp_path: Path) -> None:
    """Their last lines, with paths and variables shortened as anywhere; without the option the tiles hold none."""
    one = case("bert", "night-003", suite="zoo")
    written = "\n".join([*(f"line {number}" for number in range(100)), "Error in /home/SECRET/x.py, TOKEN=SECRET run"])
    warehouse = Builder().add(
        *nights(4), one, outcome(one, "fail_to_run", message="out of memory", stderr_tail=written)
    )
    site.publish(warehouse, tmp_path, title="the team", logs=True)
    texts = "\n".join(contents(tmp_path))

    assert "line 99\\nError in …/x.py, TOKEN=… run" in texts
    assert "line 50" not in texts and "SECRET" not in texts
    assert "what programs wrote but where they failed" in texts
    publish(warehouse, tmp_path)
    assert "line 99" not in "\n".join(contents(tmp_path))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("meta-llama/Llama-3.1", "meta-llama/Llama-3.1"),
        ("/home/me/model.py", "…/model.py"),
        ("python ~/x/train.py --lr=1", "python …/train.py --lr=1"),
        ("C:\\Users\\me\\x.exe", "…/x.exe"),
        ("me@host.example", "…"),
        ("see https://wiki.example/x?token=1", "see …"),
        ("TOKEN=abc run", "TOKEN=… run"),
        ("q below 0.001; 1/2 of them", "q below 0.001; 1/2 of them"),
        ("基线/配置", "基线/配置"),
        ("<b>new</b> and /tmp", "<b>new</b> and /tmp"),
    ],
)
def test_texts_lose_what_tells_of_machines(text: str, shown: str) -> None:
    """Paths keep their last part; names with a slash in them are names."""
    assert shortened(text) == shown


@given(st.text(st.characters(exclude_characters="/\\@=")))
def test_a_text_without_separators_stands_as_it_is(text: str) -> None:
    """Most texts have neither a slash nor @ nor =, and are not looked at any further: no rule would shorten them."""
    rules = private._VARIABLE, private._ADDRESS, private._URL, private._PATH

    assert (shortened(text), [rule.search(text) for rule in rules]) == (text, [None] * len(rules))


def test_a_pair_is_what_compare_prints(tmp_path: Path) -> None:
    """Cell by cell, with verdict, interval and reason, and the reasons that all rows share."""
    warehouse = Builder().add(*nights())
    publish(warehouse, tmp_path)
    found = compare(warehouse, *find_sides(warehouse, "night-009", "night-010"))
    columns, cells = render.render(found, render.shown(found, everything=True))
    first = columns.index("metric")
    pair = next(pair for pair in data(tmp_path, "pair") if pair["said"] == render.verdict(found))

    assert pair["shared"] == [*render.shared_reasons(found)] and len(pair["shared"]) > 0
    _, *texts, whys = pair["columns"][:8]
    assert [[*row] for row in zip(*texts, [pair["whys"][why] for why in whys], strict=True)] == [
        line[first:] for line in cells
    ]


@pytest.mark.parametrize("count", sampled([0, 1, 3], 3))
def test_a_store_of_few_runs_is_a_site(tmp_path: Path, count: int) -> None:
    """Of none, of one, and of too few to judge."""
    publish(Builder().add(*nights(count)), tmp_path)

    page = re.sub("<[^>]*>", "", (tmp_path / "index.html").read_text())
    assert f"{count} run{'' if count == 1 else 's'} of" in page
    assert {"run_id", "host"} <= data(tmp_path, "runs")[0]["columns"].keys()


@pytest.mark.exhaustive
def test_runs_without_a_time_or_a_value_are_a_site(tmp_path: Path) -> None:
    """A run that says neither when it began nor of which commit, and one of which everything failed."""
    one = case("mlp", "none")
    publish(Builder().add(run("none"), one, outcome(one, "OOM")), tmp_path)

    assert data(tmp_path, "runs")[0]["columns"]["began_at"] == [None]


@pytest.mark.exhaustive
def test_a_metric_that_rises_from_zero_is_an_incident(tmp_path: Path) -> None:
    """A level that is no positive number has no mean and no ratio: its change is told by the levels."""
    made = []
    for night in range(30):
        one = case("mlp", f"night-{night:03}")
        made += [run(one.run_id, "nightly", started_at=Instant(DAY_US * (night + 1))), one, outcome(one)]
        made.append(metric(one, "graph_breaks", 0.0 if night < 20 else 4.0, unit="count", better="lower"))
    publish(Builder().add(*made), tmp_path)

    assert "mlp: graph breaks 0 → 4" in (tmp_path / "index.html").read_text()


@pytest.mark.exhaustive
def test_an_incident_has_its_picture_and_commands(tmp_path: Path) -> None:
    """It says what changed, since when, between which commits, and how to repeat it."""
    publish(Builder().add(*nights(30, slower_from=20)), tmp_path)

    page = (tmp_path / "index.html").read_text()
    assert "3 cases of zoo: " in page and "more latency" in page
    assert "since 1970-01-22, until today; commits 131313131..141414141" in page
    assert "bench history --members --configs nightly --metrics latency --suites zoo --since 1970-01-22" in page
    assert page.count('<svg class="picture"') == 1


@exhaustive
@pytest.mark.parametrize("count", sampled([0, 1, 14], 14))
def test_the_summary_is_as_its_schema_says(tmp_path: Path, count: int) -> None:
    """Of an empty store, of one run, and with an incident; the schema lies beside it."""
    jsonschema = pytest.importorskip("jsonschema")
    publish(Builder().add(*nights(count)), tmp_path)
    summary, schema = (json.loads((tmp_path / name).read_text()) for name in ("summary.json", "summary.schema.json"))

    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(summary, schema)
    assert summary["runs"] == count


@pytest.mark.exhaustive
def test_feed_and_badges_are_xml_of_hostile_names(tmp_path: Path) -> None:
    """Each parses; an entry of the feed keeps its id and its address though later nights renumber the incidents."""
    ids, addresses = [], []
    for count in (20, 30):
        warehouse = Builder().add(*nights(count, HOSTILE, slower_from=10))
        site.publish(warehouse, tmp_path, title=HOSTILE[0], url=SITE)
        feed = ElementTree.parse(tmp_path / "feed.xml").getroot()
        ids.append([each.text for each in feed.iter("{http://www.w3.org/2005/Atom}id")])
        own = {each.get("rel"): each.get("href") for each in feed.findall("{http://www.w3.org/2005/Atom}link")}
        assert own == {"alternate": f"{SITE}/index.html", "self": f"{SITE}/feed.xml"}
        addresses.append([each.get("href", "") for each in feed.findall("*/{http://www.w3.org/2005/Atom}link")])
        for name in ("badge.svg", "badge-passing.svg"):
            ElementTree.parse(tmp_path / name)

    assert (ids[0], addresses[0]) == (ids[1], addresses[1])
    assert all(str(each).startswith("urn:uuid:") for each in ids[0])
    page, (address,) = (tmp_path / "index.html").read_text(), addresses[0]
    assert f'id="{address.removeprefix(f"{SITE}/index.html#")}"' in page
    assert f"](<{address}>)" in (tmp_path / "summary.md").read_text()


def test_what_would_be_published_is_said_without_a_site(tmp_path: Path) -> None:
    """Nothing is written; without a folder the error names what to type; a file is no folder."""
    store = str(tmp_path / "store")
    said = CliRunner().invoke(cli, ["publish", "--what", "--store", store])
    assert said.exit_code == 0 and "left out" in said.output and "host names" in said.output
    assert CliRunner().invoke(cli, ["publish", "--store", store]).exit_code == 2

    unusable = CliRunner().invoke(cli, ["publish", str(tmp_path / "site"), "--url", "javascript:x", "--store", store])
    assert unusable.exit_code == 2 and "https://" in unusable.output and not (tmp_path / "site").exists()

    (tmp_path / "file").write_text("mine")
    with pytest.raises(BenchError, match="cannot write"):
        publish(Builder().add(*nights(1)), tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.exhaustive
def test_no_more_is_new_than_there_is(tmp_path: Path) -> None:
    """Each written file counts once, the manifest too; of a site made from nothing that is all there is."""
    done = publish(Builder().add(*nights(3)), tmp_path)
    there = [path for path in tmp_path.rglob("*") if path.is_file()]

    assert done.written_bytes == done.total_bytes == sum(path.stat().st_size for path in there)
    assert str(done).startswith(f"{len(there)} files, ")


@exhaustive
@pytest.mark.parametrize(("count", "slower_from", "mark"), first_of(1, [(14, 10, "❌"), (14, 99, "✅"), (3, 10, "❔")]))
def test_a_pull_request_is_ticked_off_only_where_something_was_judged(
    tmp_path: Path, count: int, slower_from: int, mark: str
) -> None:
    """Three nights are too few for a tick."""
    publish(Builder().add(*nights(count, slower_from=slower_from)), tmp_path)

    assert (tmp_path / "summary.md").read_text(encoding="utf-8").splitlines()[2].startswith(mark)


@exhaustive
def test_a_night_that_lost_cases_is_no_quiet_one(tmp_path: Path) -> None:
    """A case that fails and one that is missing have no number that could be flagged: page, badge and summary tell them."""
    quiet = nights(14, slower_from=99)
    last = [event for event in quiet if getattr(event, "run_id", "") == "night-013"]
    failed = outcome(case("mlp", "night-013", suite="zoo", backend="inductor", device="cpu"), "fail_to_run")
    lost = {id(event) for event in [*last[4:6], *last[7:]]}  # the second case's outcome and value, the third case
    site.publish(
        Builder().add(*(event for event in quiet if id(event) not in lost), failed), tmp_path, title="t", url=""
    )

    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert ">2 cases</button> that passed in the run before fail or are missing in the newest." in page
    assert "Nothing else flagged" in page
    assert (tmp_path / "summary.md").read_text(encoding="utf-8").splitlines()[-1] == "❌ **2 lost cases**"
    assert "performance: 2 lost cases" in (tmp_path / "badge.svg").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))["lost"] == 2


@pytest.mark.exhaustive
def test_the_number_of_lost_cases_is_that_of_its_query(tmp_path: Path) -> None:
    """Runs without a time, or with the same one, have a newest, too: the last by its id."""
    for name, times in (("none", [None] * 3), ("same", [Instant(DAY_US)] * 3)):
        made = Builder()
        for number, began in enumerate(times):
            one = case("mlp", f"run-{number}", suite="zoo")
            made.add(run(f"run-{number}", "nightly", started_at=began), one)
            made.add(outcome(one, "fail_to_run" if number == 2 else "ok"))
        publish(made, tmp_path / name)
        lost = json.loads((tmp_path / name / "summary.json").read_text(encoding="utf-8"))["lost"]
        assert [(lost,)] == made.rows(f"SELECT count(*) {LOST}")


def test_a_pull_request_is_told_first_what_got_worse() -> None:
    """Improvements follow, whichever is newer."""
    newest_first = [
        Incident(
            number=number, key=title, title=title, verdict=verdict, since="2026-05-03", sentence="s", evidence="e",
            evidence_query="q", command="c", query="q", picture="", is_minor=False, is_worse=verdict == "SLOWER", cost=1.0,
            good_run=None, since_run="r", moved=0, cases=[],
        )
        for number, (title, verdict) in enumerate((("one", "FASTER"), ("two", "SLOWER"), ("three", "FASTER")))
    ]  # fmt: skip
    text = feeds.markdown(newest_first, "1 regression", mark="❌", title="t", url="").decode()

    assert [line[2:].split(":")[0] for line in text.splitlines() if line.startswith("- ")] == [
        "slower",
        "faster",
        "faster",
    ]
