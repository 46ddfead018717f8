"""How soon a scatter of 1, 10 and 100 million steps is a PNG at 300 DPI, one of a million a page, and a report's charts."""

import sys
import tempfile
from pathlib import Path

import bench
import duckdb
import numpy as np
import pyarrow as pa
from bench.warehouse import schema
from bench.warehouse.events import ScheduleChunk
from bench.warehouse.load import load
from bench.warehouse.log import EventLog
from bench.warehouse.store import Store
from bench.warehouse.views import compute_derived

from ..viz.browser import PROGRAM, Page
from .figures import BENCH, Figures, python, weigh

MATPLOTLIB = """
import sys, duckdb, matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
figure, axes = plt.subplots(figsize=(6, 4), dpi=300)
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    for config in ("A", "B", "C"):
        drawn = connection.execute("SELECT tokens, model_run_ms FROM runtime_vs_tokens([?])", [config]).fetchnumpy()
        axes.scatter(drawn["tokens"], drawn["model_run_ms"], s=4, label=config)
axes.legend()
figure.savefig(sys.argv[2], dpi=300)
"""

# Every chart of the gallery, and the samples of each model: 24 or more. What they are drawn from is made before the clock.
REPORT = """
import inspect, shlex, time
from bench.viz.command import draw_of
from bench.viz.options import chart_command
from bench.viz.output.render import RenderRequest, Renderer
from tests.viz.gallery import COMMANDS, MODELS, warehouse
store = warehouse()
store.rows("SELECT 1")
samples = [f"distribution main my-branch --models {model} --backends inductor" for model in MODELS]
def drawn(words):
    draw = draw_of(words[0])
    options = chart_command(words[0], draw).make_context(words[0], words[1:]).params
    return draw(store, **{name: options[name] for name in inspect.signature(draw).parameters if name in options})
begun = time.perf_counter()
with Renderer() as renderer:
    images = renderer.render(
        RenderRequest("png", drawn(shlex.split(command)).still("sans-serif"), 300) for command in [*COMMANDS.values(), *samples][:24]
    )
assert len(images) == 24 and all(images)
print(time.perf_counter() - begun)
"""


def measure(figures: Figures) -> None:
    """Cold processes, whole commands; of a report's charts the drawing alone.

    Of 1M steps most of the time is the renderer's: it starts in 0.4 s, and draws a picture of cells and 4,000 outliers in 0.4 s.
    Of 100M steps it is four readings of the steps, 0.4 s of processor time for 10M each, and what each sums up.
    """
    for steps, seconds in ((1_000_000, 2.0), (10_000_000, 4.0)):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:  # the browser's helpers end after it
            store = Store.find(Path(name) / "store")
            _fill(store, steps)
            load(store)
            ours = weigh(_command(store, Path(name) / "chart.png"))
            peer = python(MATPLOTLIB, str(store.database), str(Path(name) / "peer.png"))
            million = f"{steps // 1_000_000}M"
            figures.add(
                f"PNG of {million} steps", ours.seconds, "s", reference=peer.seconds, most=seconds, against="matplotlib"
            )
            figures.add(f"PNG of {million} steps, peak memory", ours.peak_bytes / 1e6, "MB", reference=peer.peak_bytes / 1e6,
                        most=600 if steps == 1_000_000 else None, against="matplotlib")  # fmt: skip
            if steps == 1_000_000:
                _page(figures, store, Path(name))
    with tempfile.TemporaryDirectory() as name:
        store = Store.find(Path(name) / "store")
        _generate(store, 100_000_000)
        ours = weigh(_command(store, Path(name) / "chart.png"))
        figures.add("PNG of 100M steps", ours.seconds, "s", most=20)
        figures.add("PNG of 100M steps, peak memory", ours.peak_bytes / 1e6, "MB", most=1500)
    figures.add("24 charts of a report as PNG, in one process", float(python(REPORT).stdout), "s", most=5)


def _command(store: Store, chart: Path) -> list[str]:
    return [
        *BENCH, "viz", "runtime-vs-tokens", "--configs", "A", "B", "C", "-o", str(chart), "--store", str(store.root),
    ]  # fmt: skip


def _page(figures: Figures, store: Store, folder: Path) -> None:
    """How large the page of a million steps is, and how soon it can be played with."""
    weigh(_command(store, folder / "chart.html"))
    figures.add("HTML of 1M steps", (folder / "chart.html").stat().st_size / 1e6, "MB", most=2.5)
    if PROGRAM is None:
        print("no Chromium on PATH: how soon a page can be played with is not measured", file=sys.stderr)
        return
    page = Page(folder / "profile")
    try:
        taken = []
        for _ in range(3):
            page.open(folder / "chart.html")
            taken.append(page.ask("performance.getEntriesByName('drawn')[0].startTime"))
    finally:
        page.close()
    figures.add("HTML of 1M steps, until it can be played with", sorted(taken)[1] / 1000, "s", most=2)


def _generate(store: Store, steps: int) -> None:
    """Steps made by the database itself: as text they would be ten times the disk."""
    run_ids = []
    for config in ("A", "B", "C"):
        with bench.run(config, store=store) as run:
            run_ids.append(run.run_id)
    load(store)
    with duckdb.connect(str(store.database)) as connection:
        connection.execute("SELECT setseed(0.5)").fetchall()
        for place, run_id in enumerate(run_ids):
            connection.execute(
                f"""INSERT INTO schedule_chunks BY NAME
                SELECT '{run_id}' AS run_id, l AS batch_id, l + 1 AS line, [tokens] AS chunk_sizes, 0.2 AS schedule_ms,
                  round({8 + place} + tokens * {0.010 + 0.002 * place} - 1.6 * ln(1 - random())
                    - CASE WHEN random() < 0.002 THEN 40 * ln(1 - random()) ELSE 0 END, 3) AS model_run_ms
                FROM (
                  SELECT l, least(4096, 1 + floor(-480 * ln(1 - random())))::BIGINT AS tokens FROM range({steps // 3}) t(l)
                )"""
            )
        compute_derived(connection, run_ids)


def _fill(store: Store, steps: int) -> None:
    rng = np.random.default_rng(1)
    for index, config in enumerate(("A", "B", "C")):
        run = bench.run(config, store=store)
        rows = steps // 3
        tokens = np.minimum(rng.gamma(1.2, 400, rows).astype("int64") + 1, 4096)
        runtime = (8 + index) + tokens * (0.010 + 0.002 * index) + rng.gamma(2, 0.8, rows)
        outliers = rng.random(rows) < 0.002
        runtime[outliers] += rng.exponential(40, outliers.sum())
        wanted = schema.arrow_schema(ScheduleChunk)
        given = {
            "run_id": pa.array([run.run_id]).take(pa.array(np.zeros(rows, "int64"))),
            "batch_id": pa.array(np.arange(rows)),
            "chunk_sizes": pa.ListArray.from_arrays(pa.array(np.arange(rows + 1, dtype="int32")), pa.array(tokens)),
            "schedule_ms": pa.array(rng.random(rows)),
            "model_run_ms": pa.array(runtime),
            "line": pa.array(np.arange(rows) + 1),
        }
        columns = [given.get(field.name, pa.nulls(rows, field.type)) for field in wanted]
        EventLog(store).write(ScheduleChunk, pa.Table.from_arrays(columns, schema=wanted), f"{run.run_id}.0")
        run.close()
