"""Scheduler steps for charts: a few by hand, or many made in SQL with a realistic shape."""

from typing import Any

from bench.viz.output.figure import Figure

from ..builders import Builder, chunk, run, source


def fields(figure: Figure, *names: str) -> list[tuple[Any, ...]]:
    """What a figure draws: these columns, row by row."""
    return list(zip(*(figure.fields[name] for name in names), strict=True))


def few(config: str = "A", points: list[tuple[int, float | None]] | None = None) -> Builder:
    """A warehouse with one file of one config: (tokens, ms) of each step, plus ten lines to trim at either end."""
    return add_few(Builder(), config, [(64, 10.0), (128, 12.0), (2048, 80.0)] if points is None else points)


def add_few(builder: Builder, config: str, points: list[tuple[int, float | None]]) -> Builder:
    """Add such a file for one more config."""
    name = f"{config}.jsonl"
    padded: list[tuple[int, float | None]] = [(1, 1.0)] * 10 + points + [(1, 1.0)] * 10
    builder.add(run(config, config), source(name, lines=len(padded), run=config, config=config, path=f"runs/{name}"))
    return builder.add(
        *(
            chunk(line, [tokens], run=config, source_id=name, model_run_ms=ms)
            for line, (tokens, ms) in enumerate(padded, start=1)
        )
    )


def many(count: int, configs: tuple[str, ...] = ("A", "B")) -> Builder:
    """A warehouse with `count` steps in all: a staircase over the tokens, a queue at the budget, outliers."""
    builder = Builder()
    own = count // len(configs)
    builder.connection.execute("SELECT setseed(0.5)").fetchall()
    for number, config in enumerate(configs):
        builder.add(run(config, config))
        builder.connection.execute(
            f"""INSERT INTO schedule_chunks BY NAME
            SELECT '{config}' AS run_id, '{config}.jsonl' AS source_id, l + 1 AS line, l AS batch_id, 0.2 AS schedule_ms,
              [tokens] AS chunk_sizes,
              (7 + ceil(tokens / 64) * (1.7 + 0.2 * {number})) * (1 + 0.05 * random())
                + CASE WHEN random() < 0.003 THEN -ln(1 - random()) * 30 ELSE 0 END AS model_run_ms
            FROM (
              SELECT l, least(2048, ceil(CASE WHEN random() < 0.6 THEN random() * 64 ELSE -ln(1 - random()) * 700 END))::BIGINT
                AS tokens
              FROM range({own}) t(l)
            )"""
        )
        builder.add(source(f"{config}.jsonl", lines=own, run=config, config=config))
    return builder
