"""`python -m tests.benchmarks [NAME…]` measures the figures (all, or those of the named modules) and prints them.

Let nothing else run meanwhile. Results go into a store of their own, `.bench-figures/`, so that any two runs compare:

    bench sql --store .bench-figures "SELECT * FROM metrics JOIN cases USING (run_id, case_id)"
"""

import importlib
import sys

from .figures import Figures

MODULES = (
    "startup", "emit", "ingest", "tables", "formats", "warehouse", "answers", "views", "charts", "report", "pages.publish",
    "simulations.alarms", "simulations.sessions", "simulations.changepoints", "simulations.partitions", "simulations.bisect",
    "simulations.phases", "simulations.steps", "simulations.requests", "simulations.together", "simulations.budgets",
    "simulations.few_samples", "simulations.servers", "simulations.judged_nights", "simulations.dashboards", "simulations.lottery",
    "simulations.failures", "simulations.same_sides", "memory_lines", "memory_spikes", "models.model_memory", "models.model_times", "models.training", "lone_times", "command", "clock",
    "identical", "simulations.processes",
    "scale", "serving_live", "serving", "nothing_lost", "why",
)  # fmt: skip


def main(names: list[str]) -> int:
    """Measure, print, and return 1 if a figure is beyond its bar."""
    modules = {module.rpartition(".")[2]: module for module in MODULES}
    if unknown := set(names) - set(modules):
        sys.exit(f"no figures {', '.join(sorted(unknown))}. There are: {', '.join(modules)}")
    with Figures() as figures:
        for name in names or modules:
            importlib.import_module(f".{modules[name]}", __package__).measure(figures)
    return figures.report()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
