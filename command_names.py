"""The commands by name: where each is defined, its one-line help, and the group that `bench --help` shows it in."""

# name -> (module, attribute, short help). Static, so that `bench --help` imports none of them.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "measure": (".measure.command", "measure", "Measure models, functions, commands, memory and servers."),
    "doctor": (".measure.doctor.command", "command", "What would disturb measurements here, and the noise floor."),
    "ingest": (".ingest.command", "ingest", "Load results of bench and of other tools."),
    "show": (".query.contents.command", "show", "What is in a run: each case with its value and interval."),
    "list": (".lazy_group", "listing", "List runs, configs, cases, sources or rejects."),
    "sql": (".query.command", "sql", "Ask the warehouse anything, read-only."),
    "views": (".query.command", "views", "What can be asked: the views and tables with their columns."),
    "explain": (".query.explain.command", "explain", "Trace a figure to its SQL, samples and files."),
    "why": (".query.why.command", "why", "Why it is slower: parts that add up to the difference."),
    "cost-model": (".query.cost.command", "cost_model", "Fit what a scheduler step costs by its tokens."),
    "compare": (".query.comparison.command", "compare", "Compare two sides case by case, with verdicts."),
    "speedups": (".query.lists", "speedups", "Every backend against its baseline, with intervals."),
    "regressions": (".query.regression.command", "regressions", "What got worse since the runs before, beyond noise."),
    "history": (".query.change.command", "history", "What changed over many runs: steps, drifts and excursions."),
    "bisect": (".measure.bisect.command", "command", "Find the commit that made it slower, larger or fail."),
    "env-diff": (".query.explain.command", "env_diff", "What differs between the environments of two sides."),
    "plan": (".query.explain.command", "plan", "How many runs it takes to see a change of a given size."),
    "viz": (".viz.command", "viz", "Draw charts of queries."),
    "ci": (".measure.ci.command", "command", "Compare HEAD with its merge base, on this job's machine."),
    "report": (".viz.report", "report", "Report a run as Markdown or as one offline page."),
    "publish": (".viz.publish.command", "command", "Publish a store as a static site that a team looks at."),
    "export": (".query.export.command", "export", "Write runs as the files of other tools."),
    "forget": (".query.edits.command", "forget", "Take runs out of every view; `remember` brings them back."),
    "remember": (".query.edits.command", "remember", "Bring forgotten runs back."),
    "rename": (".query.edits.command", "rename", "Rename a config, or give runs another one."),
    "tag": (".query.edits.command", "tag", "Label runs afterwards, or take labels away."),
    "settings": (".warehouse.command", "settings", "What the project's settings say, and why."),
    "store": (".lazy_group", "keeping", "Keep a store: recover, rebuild, verify, sync, compact, archive."),
    "programs": (".lazy_group", "for_programs", "For programs and shells: schemas, mcp, completion."),
}
# What one wants -> the lines of `bench --help`: the commands of a line, and its help where they are several.
WANTS: dict[str, tuple[tuple[tuple[str, ...], str], ...]] = {
    "record": ((("measure",), ""), (("doctor",), "")),
    "load": ((("ingest",), ""),),
    "ask": (
        (("show",), ""), (("list",), ""), (("sql", "views"), "Ask anything in SQL; what can be asked."),
        (("explain", "cost-model"), "Where a figure comes from; what a scheduler step costs."),
    ),
    "judge": (
        (("compare",), ""), (("why",), ""), (("speedups",), ""), (("regressions",), ""), (("history",), ""),
        (("bisect", "ci"), "Find the commit that did it; compare HEAD with its merge base."),
        (("env-diff", "plan"), "How environments differ; how many runs it takes."),
    ),
    "draw": (
        (("viz",), ""), (("report", "publish"), "A run as one page; a store as a site."), (("export",), ""),
    ),
    "keep": (
        (("tag", "rename"), "Label runs; rename a config."), (("forget", "remember"), "Undo a wrong import, and bring it back."),
        (("store", "settings"), "Keep the store; the project's settings."), (("programs",), ""),
    ),
}  # fmt: skip
LISTING: dict[str, tuple[str, str, str]] = {
    "runs": (".query.lists", "runs", "List runs, newest first."),
    "configs": (".query.lists", "configs", "List configs and what is known of each."),
    "cases": (".query.lists", "cases", "List cases and how each ended."),
    "sources": (".query.lists", "sources", "List imported files with their accounting."),
    "rejects": (".query.lists", "rejects", "List records that could not be read, and why."),
}
KEEPING: dict[str, tuple[str, str, str]] = {
    "recover": (".warehouse.upkeep.command", "recover", "Seal the journals of processes that died."),
    "rebuild": (".warehouse.upkeep.command", "rebuild", "Build the warehouse anew from the event log."),
    "verify": (".warehouse.upkeep.command", "verify", "Check every file's checksum and accounting."),
    "sync": (".warehouse.remote.command", "sync", "Copy what one store has and another lacks, disk or bucket."),
    "compact": (".warehouse.upkeep.command", "compact", "Merge small event files without changing any result."),
    "archive": (".warehouse.upkeep.command", "archive", "Move old runs into another store."),
}
FOR_PROGRAMS: dict[str, tuple[str, str, str]] = {
    "schemas": (".agents.command", "schemas", "The JSON Schemas of what commands answer."),
    "mcp": (".agents.command", "mcp", "Answer agents by the Model Context Protocol."),
    "completion": (
        ".warehouse.console.shell_completion",
        "completion",
        "Print a script for a shell that completes bench's commands.",
    ),
}
# Names of earlier versions, which go on working -> the words that stand for them.
EARLIER: dict[str, list[str]] = {
    **{name: ["list", name] for name in LISTING},
    **{name: ["store", name] for name in KEEPING},
    **{name: ["programs", name] for name in FOR_PROGRAMS},
    "untag": ["tag", "--remove"],
}
# Names that other tools have for a command -> what it is called here.
OTHER_NAMES = {
    "delete": "forget", "remove": "forget", "rm": "forget", "undo": "forget", "restore": "remember", "undelete": "remember",
    "mv": "rename", "label": "tag", "plot": "viz", "chart": "viz", "draw": "viz", "graph": "viz", "import": "ingest",
    "load": "ingest", "add": "ingest", "query": "sql", "select": "sql", "ask": "sql", "ls": "list", "status": "show",
    "log": "list runs", "diff": "compare", "cmp": "compare", "run": "measure", "bench": "measure", "time": "measure",
    "check": "store verify", "fsck": "store verify", "gc": "store compact", "vacuum": "store compact", "copy": "store sync",
    "push": "store sync", "pull": "store sync", "tables": "views", "schema": "views", "trend": "history", "because": "why",
    "env": "settings", "config": "settings", "init": "ingest", "cat": "show", "results": "show",
    "summary": "show", "stats": "show",
}  # fmt: skip
