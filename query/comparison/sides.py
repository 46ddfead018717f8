"""Sides of a comparison: their names and their runs."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.store import Notify, Store
from ..resolve import named_runs, resolve_run, resolve_runs
from ..run_paths import labelled, runs_of_path

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse


@dataclass(frozen=True, slots=True)
class Side:
    """One side: its name as given, its runs, the newest of each name first, and how many more runs its configs have."""

    name: str
    runs: tuple[str, ...]
    others: int = 0


def ingest_folders(
    store: Store, texts: Sequence[str], notify: Notify, ingest_path: Callable[[Store, str], None]
) -> None:
    """Ingest each side that is not a name but a folder or file of results, `PATH` or `NAME:PATH`.

    A path that was ingested before costs a hash.

    Args:
        store: Where to load it; created if missing.
        texts: Sides as given.
        notify: Called with a sentence for each path that is ingested, and for each name that is also a path.
        ingest_path: Ingests one path into the store.

    Raises:
        BenchError: A path cannot be ingested.
    """
    for part in _to_load(store, texts, notify):
        notify(f"{part} is no name of a run but a path: loading it")
        try:
            ingest_path(store, part)
        except BenchError as error:
            raise BenchError(f"{part} could not be loaded: {error}") from error


def find_sides(
    warehouse: "Warehouse", base: str, candidate: str, *, all_runs: bool = False, notify: Notify | None = None
) -> tuple[Side, Side]:
    """The runs of both sides.

    A name means its newest run and its repeats: the other runs of the same config that measured the same known and clean
    commit, or shared its plan (`bench measure models --fleet`). Where that puts a run on both sides, repeats are left out.
    A path means the runs that `ingest_folders` made of it. Names joined by `+` are pooled.

    Args:
        warehouse: Where to look.
        base: The side to compare with.
        candidate: The side under judgement.
        all_runs: Take every run that a name means, not only the newest and its repeats.
        notify: Called with a sentence for each run that was left out, with the reason.

    Raises:
        UnknownName: No run answers to a name.
        BenchError: Both sides are the same runs, or share some.
    """
    sides = [Side(text, runs_of(warehouse, text, all_runs)) for text in (base, candidate)]
    if set(sides[0].runs) & set(sides[1].runs) and not all_runs:
        sides = [Side(text, runs_of(warehouse, text, repeats=False)) for text in (base, candidate)]
        if notify and not set(sides[0].runs) & set(sides[1].runs):
            notify(
                f"{base} and {candidate} repeat each other (same config, same commit): only the runs named are compared"
            )
    if shared := set(sides[0].runs) & set(sides[1].runs):
        raise BenchError(f"run {min(shared)} is on both sides. Name two different ones; list them with: bench runs")
    return _with_others(warehouse, *sides), _with_others(warehouse, *reversed(sides))


def configs_of(warehouse: "Warehouse", texts: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """The configs that are meant, and whether any is by a path: that of the runs that `ingest_folders` made of it.

    Any other text is a name.
    """
    configs, paths = [], False
    for text in texts:
        if _is_path(text) and not _is_name(warehouse, text):
            query, paths = "SELECT config FROM run_summaries WHERE run_id = ?", True
            ((text,),) = warehouse.rows(query, [runs_of_path(warehouse, text)[0]])
        configs.append(text)
    return tuple(dict.fromkeys(configs)), paths


def runs_of(warehouse: "Warehouse", text: str, all_runs: bool = False, *, repeats: bool = True) -> tuple[str, ...]:
    """The runs of a side, each once, the newest of each name first: as `find_sides` says."""
    runs: list[str] = []
    for part in _parts(warehouse, text):
        if _is_path(part) and not _is_name(warehouse, part):
            runs += runs_of_path(warehouse, part)
        elif all_runs:
            runs += resolve_runs(warehouse, part)
        else:
            newest = resolve_run(warehouse, part)
            runs += [newest, *(_repeats(warehouse, newest) if repeats else ())]
    return tuple(dict.fromkeys(runs))


def _with_others(warehouse: "Warehouse", side: Side, opposite: Side) -> Side:
    """The side, and how many runs of the configs it names are not in it, unless the opposite side has some."""
    query = """
        SELECT count(*)
        FROM run_summaries
        WHERE list_contains(?::VARCHAR[], config) AND NOT list_contains(?::VARCHAR[], run_id)
            AND config NOT IN (SELECT config FROM run_summaries WHERE list_contains(?::VARCHAR[], run_id))
    """
    [(count,)] = warehouse.rows(query, [_parts(warehouse, side.name), [*side.runs], [*opposite.runs]])
    return replace(side, others=count)


def _repeats(warehouse: "Warehouse", run_id: str) -> list[str]:
    query = "SELECT other_run_id FROM related_runs WHERE run_id = ? ORDER BY other_began_at DESC NULLS LAST, other_run_id DESC"
    return [other for (other,) in warehouse.rows(query, [run_id])]


def _to_load(store: Store, texts: Iterable[str], notify: Notify) -> list[str]:
    """The parts that are paths and not names; a part that is both is taken as a name, with a notice."""
    from ...warehouse.database import Warehouse

    if not store.may_hold():
        return [part for text in texts for part in _parts(None, text) if _is_path(part)]
    found = []
    with Warehouse.open(store) as warehouse:
        for part in [part for text in texts for part in _parts(warehouse, text)]:
            if not _is_path(part):
                continue
            if not _is_name(warehouse, part):
                found.append(part)
            elif os.path.exists(part):
                notify(f"{part} is taken for the name of a run; for the path write {os.path.join('.', part)}")
    return found


def _parts(warehouse: "Warehouse | None", text: str) -> list[str]:
    """The names that a side joins with `+`; a name or path that exists as a whole may contain a `+`."""
    if _is_path(text) or (warehouse is not None and _is_name(warehouse, text)):
        return [text]
    return [part for part in text.split("+") if part] or [text]


def _is_name(warehouse: "Warehouse", text: str) -> bool:
    try:
        named_runs(warehouse, text)
    except UnknownName:
        return False
    except BenchError:  # it is one, but not of a single run: that is told when it is resolved; or there are no runs
        return bool(warehouse.rows("SELECT 1 FROM run_summaries LIMIT 1"))
    return True


def _is_path(text: str) -> bool:
    return os.path.exists(text) or labelled(text) is not None
