"""Options of PyTorch's benchmarks/dynamo and of its runner: each is answered with what asks for the same here."""

import click

from ...warehouse.console.options import LongCommand

ALWAYS = "leave it out, it is always so"
TODAY = {
    "accuracy": f"{ALWAYS}: accuracy is judged in every run; --batch-sizes accuracy takes that benchmark's sizes",
    "amp": "--dtypes amp",
    "amp-dtype": "--dtypes amp_bfloat16 or amp_float16",
    "backend": "--backends",
    "batch-size": "--batch-sizes",
    "bfloat16": "--dtypes bfloat16",
    "cold-start-latency": f"{ALWAYS}: every worker begins with an empty compile cache",
    "compilers": "--backends",
    "coverage": "--inspect",
    "cpu-launcher": "--launcher 'xeon …'",
    "cpu-launcher-args": "--launcher 'xeon …'",
    "ddp": "--distributed ddp",
    "device": "--devices",
    "device-index": "--devices cuda:N",
    "diff-branch": "--revisions",
    "disable-cudagraphs": "--backends inductor or inductor-no-cudagraphs",
    "dynamic-batch-only": "--dynamic-batch",
    "dynamic-shapes": "--dynamic",
    "enable-activation-checkpointing": "--checkpointing",
    "enable-cpu-launcher": "--launcher 'xeon …'",
    "export": "--backends export",
    "export-aot-inductor": "--backends aotinductor",
    "export-profiler-trace": "--profile",
    "find-batch-sizes": "--batch-sizes auto",
    "float16": "--dtypes float16",
    "float32": "--dtypes float32",
    "freezing": "--backends inductor-freezing",
    "fsdp": "--distributed fsdp",
    "inductor": "--backends inductor",
    "inductor-compile-mode": "--backends inductor-max-autotune, inductor-reduce-overhead or inductor-no-cudagraphs",
    "inference": "--modes inference",
    "iterations": "--repeat",
    "iterations-per-run": f"{ALWAYS}: a sample has as many calls as the clock needs",
    "log-graph-breaks": f"{ALWAYS}: bench sql 'FROM graph_break_reasons'",
    "log-operator-inputs": "--inspect",
    "multiprocess": "--ranks",
    "no-translation-validation": "leave it out: it has no effect without --translation-validation",
    "nopython": "--fullgraph",
    "output": "bench export --as torch-compile-csv -o FOLDER, after the run",
    "output-dir": "bench export --as torch-compile-csv -o FOLDER, after the run",
    "output-directory": "bench export --as torch-compile-csv -o FOLDER, after the run",
    "overhead": "--backends torch:eager",
    "partition-id": "--partition I/N",
    "per-process-memory-fraction": "--memory-fraction",
    "performance": f"{ALWAYS}: every run measures it",
    "print-aten-ops": "--inspect",
    "print-compilation-time": f"{ALWAYS}: the column compile",
    "print-fx": "--inspect",
    "print-graph-breaks": f"{ALWAYS}: bench sql 'FROM graph_break_reasons'",
    "print-memory": f"{ALWAYS}: the column memory",
    "print-run-commands": "--print-commands",
    "profile-dynamo-cache-lookup": "--profile",
    "quantization": "--backends quantized",
    "randomize-input": "--randomize-inputs",
    "recompile-profiler": f"{ALWAYS}: bench sql \"FROM metrics WHERE metric LIKE 'recompile%'\"",
    "skip-accuracy-check": f"{ALWAYS}: a wrong output ends no run",
    "skip-fp64-check": "--cosine, which runs nothing in float64",
    "snapshot-memory": "--memory-snapshot",
    "speedup-dynamo-ts": "--backends torchscript",
    "torchscript-jit-trace": "--backends torchscript",
    "total-partitions": "--partition I/N",
    "training": "--modes training",
    "use-eval-mode": "--eval-mode",
    "use-warm-peak-memory": f"{ALWAYS}: memory is that of warm steps, and first_call_rss_growth is what compiling took",
    "warm-start-latency": "--warm-start",
    "xla": "--backends xla",
}


class ModelsCommand(LongCommand):
    """A command that knows what its predecessors called its options."""

    usual = (
        "suites", "models", "backends", "modes", "batch_sizes", "dtypes", "devices", "precision", "budget_s", "repeat", "quick",
        "timeout_s", "threads", "memory", "config", "tags", "revisions", "resume", "print_only", "fmt", "store",
    )  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Answer an option of theirs with today's."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("_", "-")
            if name not in TODAY:
                raise
            raise click.UsageError(f"No such option: {error.option_name}. Here it is: {TODAY[name]}", ctx) from None
