"""Sites for tests: stores that are published, and what a file of them says."""

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.viz.publish import site
from bench.warehouse.events import Event, Instant
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store

from ...builders import Builder, case, metric, outcome, run

DAY_US = 86_400_000_000


def nights(
    count: int = 14, names: Sequence[str] = ("bert", "mlp", "resnet"), *, slower_from: int = 10, **fields: Any
) -> list[Event]:
    """So many nights of these models, each 20 % slower from one of the nights on."""
    made: list[Event] = []
    for night in range(count):
        run_id = f"night-{night:03}"
        made.append(
            run(run_id, "nightly", started_at=Instant(DAY_US * (night + 1)), git_commit=f"{night:02x}" * 20, **fields)
        )
        for place, name in enumerate(names):
            one = case(name, run_id, suite="zoo", backend="inductor", device="cpu")
            value = 1e6 * (place + 1) * (1 + 0.001 * ((night * 7 + place) % 5)) * (1.2 if night >= slower_from else 1)
            made += [one, outcome(one), metric(one, "latency", value, unit="ns", better="lower")]
    return made


def on_disk(events: Iterable[Event], folder: Path) -> Store:
    """A store that holds them."""
    store = Store.find(folder).create()
    of_kind: dict[type[Event], list[Event]] = {}
    for event in events:
        of_kind.setdefault(type(event), []).append(event)
    for kind, rows in of_kind.items():
        EventLog(store).write(kind, rows, "made")
    load(store)
    return store


def publish(warehouse: Builder, folder: Path) -> site.PublishedSite:
    """Publish it."""
    return site.publish(warehouse, folder, title="the team")


def contents(folder: Path) -> Iterator[str]:
    """The text of each file of a site, unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            packed = re.fullmatch(r'bench\\("[^"]+","([^"]*)"\\)\n'.replace("\\\\", "\\"), text)
            yield gzip.decompress(base64.b64decode(packed[1])).decode("utf-8", "replace") if packed else text


def data(folder: Path, kind: str) -> list[Any]:
    """The JSON of all data files of a kind."""
    texts = (path.read_text(encoding="utf-8") for path in sorted((folder / "data").glob(f"{kind}-*.js")))
    return [json.loads(gzip.decompress(base64.b64decode(text.split('"')[3]))) for text in texts]
