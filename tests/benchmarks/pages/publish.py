"""What the site of a store of 1,000 runs × 500 cases × 3 metrics costs: to publish, to keep, to open.

A night is what a dashboard of compilers writes: two suites of 125 models by two backends, of each the speedup, the latency and the
compile time. 41 cases get slower in the night 700, a whole suite compiles longer from the night 850 on, one model gets slower in
the night 950, and one case in two hundred fails.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
from bench.warehouse.events import CaseRecord, Metric, Outcome
from bench.warehouse.load import load
from bench.warehouse.store import Store

from ...viz.browser import PROGRAM, Page
from ..figures import BENCH, Figures, weigh
from ..nights import Nights

RUNS = 1000
SUITES, MODELS, BACKENDS = ("torchbench", "huggingface"), 125, ("inductor", "cudagraphs")
AXES = [
    {"suite": suite, "name": f"{suite}-model-{model}", "mode": "inference", "device": "cuda", "dtype": "bfloat16",
     "backend": backend, "batch_size": 8}
    for suite in SUITES for model in range(MODELS) for backend in BACKENDS
]  # fmt: skip
# metric: its unit, what is better, the logarithm of its middle over all cases, how far they spread, and its noise
METRICS = {
    "speedup": ("ratio", "higher", 0.3, 0.3, 0.01),
    "absolute_latency": ("ns", "lower", 17.0, 1.2, 0.01),
    "compile_latency": ("ns", "lower", 24.0, 0.7, 0.03),
}


def fill(store: Store, runs: int = RUNS, seed: int = 1) -> Nights:
    """Write so many nights of all cases."""
    nights = Nights(store, runs, at_once=runs, axes=AXES, source="torch-compile")
    cases, whole = len(AXES), min(runs, RUNS)  # one night more leaves those before as they are
    each = np.arange(cases)
    run, case = np.repeat(np.arange(runs), cases), np.tile(each, runs)
    nights.write(
        CaseRecord, "nights", run, case, work_hash=[nights.ids[i][1] for i in case],
        **{key: [AXES[i][key] for i in case] for key in AXES[0]},
    )  # fmt: skip
    ran = np.random.default_rng(seed).random((runs, cases)) > 0.005
    for kind, good, bad in (("performance", "ok", "fail_to_run"), ("accuracy", "pass", "fail_accuracy")):
        status = np.where(ran, good, bad).ravel()
        nights.write(Outcome, f"{kind}-nights", run, case, kind=kind, status=status)
    night = np.arange(runs)[:, None]
    slower = np.where((night >= 0.7 * whole) & (each % 2 == 0) & (each < 82), 1.08, 1.0)
    slower = slower * np.where((night >= 0.95 * whole) & (each == 301), 1.3, 1.0)
    compiles = np.where((night >= 0.85 * whole) & (each >= cases // 2), 1.15, 1.0)
    factors = {"speedup": 1 / slower, "absolute_latency": slower, "compile_latency": compiles}
    for place, (metric, (unit, better, middle, spread, noise)) in enumerate(METRICS.items()):
        rng = np.random.default_rng([seed, place])
        values = rng.lognormal(middle, spread, cases) * rng.lognormal(0, noise, (runs, cases)) * factors[metric]
        nights.write(
            Metric, f"{metric}-nights", run[ran.ravel()], case[ran.ravel()], metric=metric, unit=unit, better=better,
            value=values[ran],
        )  # fmt: skip
    return nights


def measure(figures: Figures) -> None:
    """Publish in cold processes, then open the pages from their files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = [Store.find(folder / f"{runs}").create() for runs in (RUNS, RUNS + 1)]
        for store, runs in zip(stores, (RUNS, RUNS + 1), strict=True):
            fill(store, runs)
            load(store)
        site = folder / "site"
        for what, store, most in (("from nothing", stores[0], 60.0), ("with one more night", stores[1], 3.0)):
            before = {path: path.stat().st_mtime_ns for path in site.rglob("*.*")} if site.exists() else {}
            cost = weigh([*BENCH, "publish", str(site), "--store", str(store.root)])
            new = [path for path in site.rglob("*.*") if before.get(path) != path.stat().st_mtime_ns]
            figures.add(f"publish {what}", cost.seconds, "s", most=most)
            figures.add(f"publish {what}: memory", cost.peak_bytes / 1e6, "MB")
            figures.add(
                f"publish {what}: written",
                sum(path.stat().st_size for path in new) / 1e6,
                "MB",
                most=2 if before else 25,
            )
        if PROGRAM is not None:
            page = Page(folder / "profile")
            try:
                _open(figures, page, site)
            finally:
                page.close()


def _open(figures: Figures, page: Page, site: Path) -> None:
    """How long each page takes, and how much the first one needs."""
    began = time.perf_counter()
    page.open(site / "index.html")
    figures.add("first view", time.perf_counter() - began, "s", most=1)
    used = [Path(url.removeprefix("file://").partition("#")[0]) for url in page.requests]
    figures.add("first view: read", sum(path.stat().st_size for path in used) / 1e6, "MB", most=1)
    case = page.ask("document.querySelector('.cases a').getAttribute('href')")
    for what, address, most in (
        ("compare, judged", "#/compare/run-00999/run-01000", 0.5), ("compare, side by side", "#/compare/run-00100/run-00900", 0.5),
        ("a case", case, 0.3),
    ):  # fmt: skip
        took = page.ask(f"""(async () => {{
          const began = performance.now();
          location.hash = {address!r};
          while (document.documentElement.dataset.drawn !== location.hash) await new Promise(done => setTimeout(done, 1));
          return performance.now() - began;
        }})()""")
        figures.add(what, took / 1e3, "s", most=most)
    keys = page.ask("""(async () => {
      const field = document.getElementById('search'), took = [];
      field.focus();
      for (const text of ['t', 'to', 'tor', 'torchbench-model-1', '1971-0', 'x']) {
        field.value = text;
        delete field.dataset.found;
        const began = performance.now();
        field.dispatchEvent(new Event('input'));
        while (field.dataset.found === undefined) await new Promise(done => setTimeout(done, 0));
        took.push(performance.now() - began);
      }
      return Math.max(...took);
    })()""")
    figures.add("search, slowest key", keys / 1e3, "s", most=0.05)
    figures.add("errors and requests to elsewhere", len(page.errors) + sum(not url.startswith("file:") for url in page.requests),
                "count", most=0)  # fmt: skip
