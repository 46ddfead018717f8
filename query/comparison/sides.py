"""Sides of a comparison: their names and their runs."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ...warehouse.errors import BenchError, UnknownName
from ...warehouse.store import Notify, Store
from ..in_place import IngestInPlace, gathered
from ..resolve import named_runs, resolve_run, resolve_runs
from ..run_paths import is_path, near_files, place_of, runs_of_path

if TYPE_CHECKING:
    from ...warehouse.database import Warehouse


@dataclass(frozen=True, slots=True)
class Side:
    """One side: its name, its runs, the newest of each name first, and how many more runs its configs have.

    The name is what answers call it. `given` is what the user called it, such as a whole path, which commands take.
    """

    name: str
    runs: tuple[str, ...]
    others: int = 0
    given: str = ""

    @property
    def word(self) -> str:
        """The side as commands take it."""
        return self.given or self.name


@contextlib.contextmanager
def sides_in_place(
    store: Store, texts: Sequence[str], notify: Notify, ingest_in_place: IngestInPlace, *, all_runs: bool = False
) -> Iterator[Store]:
    """A context with a store that holds each side; `store` is never written.

    It is `store` itself where all sides are names of runs in it. A side may also be a file or folder of results, another
    store or a bucket, `PATH` or `NAME:PATH`: these are read into a store of the block's own.

    Args:
        store: The user's store; it need not exist.
        texts: Sides as given.
        notify: Called with a sentence for what cannot be read, and for each name that is also a path.
        ingest_in_place: Reads paths into a store.
        all_runs: Of another store take every run that a name means.

    Raises:
        BenchError: A path cannot be read.
        UnknownName: A text is neither a path nor a name, and a file is called almost so.
    """
    _check_files(store, texts)
    paths, names = _paths_and_names(store, texts, notify)

    def meant(warehouse: "Warehouse", name: str) -> tuple[str, ...]:
        return runs_of(warehouse, name, all_runs)

    with gathered(store, paths, names, meant, ingest_in_place, notify) as found:
        yield found


def find_sides(
    warehouse: "Warehouse", base: str, candidate: str, *, all_runs: bool = False, notify: Notify | None = None
) -> tuple[Side, Side]:
    """The runs of both sides.

    A name means its newest run and its repeats: the other runs of the same config that measured the same known and clean
    commit, or are files of the same night (one for each shard), or shared its plan (`bench measure models --fleet`), or were
    recorded beside it (a trace and its log). Where that puts a run on both sides, repeats are left out.
    A path means the runs that were loaded from it, or read in place (`sides_in_place`). Names joined by `+` are pooled.

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
    texts = base, candidate
    sides = [find_side(warehouse, text, all_runs=all_runs) for text in texts]
    if set(sides[0].runs) & set(sides[1].runs) and not all_runs:
        sides = [
            replace(side, runs=runs_of(warehouse, text, repeats=False)) for side, text in zip(sides, texts, strict=True)
        ]
        if notify and not set(sides[0].runs) & set(sides[1].runs):
            notify(
                f"{base} and {candidate} repeat each other (same config, same commit or night): only the runs named are compared"
            )
    if shared := set(sides[0].runs) & set(sides[1].runs):
        if all(place_of(warehouse, part) for text in texts for part in _parts(warehouse, text)):
            raise BenchError(f"{base} and {candidate} hold the same results. Name two different files or folders")
        raise BenchError(
            f"run {min(shared)} is on both sides. Name two different ones; list them with: bench list runs"
        )
    first, second = sides
    return _with_others(warehouse, first, base, second), _with_others(warehouse, second, candidate, first)


def find_side(warehouse: "Warehouse", text: str, *, all_runs: bool = False) -> Side:
    """One side by itself: its runs as `find_sides` says.

    Raises:
        UnknownName: No run answers to the name.
    """
    return Side(_called(warehouse, text), runs_of(warehouse, text, all_runs), given=text)


def configs_of(warehouse: "Warehouse", texts: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """The configs that are meant, and whether any is by a path: that of its runs. Any other text is a name."""
    configs, paths = [], False
    for text in texts:
        if is_path(text) and (place_of(warehouse, text) or not _is_name(warehouse, text)):
            query, paths = "SELECT config FROM run_summaries WHERE run_id = ?", True
            ((text,),) = warehouse.rows(query, [runs_of_path(warehouse, text)[0]])
        configs.append(text)
    return tuple(dict.fromkeys(configs)), paths


def runs_of(warehouse: "Warehouse", text: str, all_runs: bool = False, *, repeats: bool = True) -> tuple[str, ...]:
    """The runs of a side, each once, the newest of each name first: as `find_sides` says."""
    runs: list[str] = []
    for part in _parts(warehouse, text):
        if place_of(warehouse, part) or (is_path(part) and not _is_name(warehouse, part)):
            runs += runs_of_path(warehouse, part)
        elif all_runs:
            runs += resolve_runs(warehouse, part)
        else:
            newest = resolve_run(warehouse, part)
            runs += [newest, *(_repeats(warehouse, newest) if repeats else ())]
    return tuple(dict.fromkeys(runs))


def _called(warehouse: "Warehouse", text: str) -> str:
    """A side as answers call it: its paths and addresses by their short names."""
    places = [place_of(warehouse, part) for part in _parts(warehouse, text)]
    return "+".join(place.name for place in places if place) if all(places) else text


def _with_others(warehouse: "Warehouse", side: Side, text: str, opposite: Side) -> Side:
    """The side, and how many runs of the configs it names are not in it, unless the opposite side has some."""
    query = """
        SELECT count(*)
        FROM run_summaries
        WHERE list_contains(?::VARCHAR[], config) AND NOT list_contains(?::VARCHAR[], run_id)
            AND config NOT IN (SELECT config FROM run_summaries WHERE list_contains(?::VARCHAR[], run_id))
    """
    places = {part: place_of(warehouse, part) for part in _parts(warehouse, text)}
    here = [part for part, place in places.items() if place is None]
    [(count,)] = warehouse.rows(query, [here, [*side.runs], [*opposite.runs]])
    return replace(side, others=count + sum(place.others for place in places.values() if place))


def _repeats(warehouse: "Warehouse", run_id: str) -> list[str]:
    query = "SELECT other_run_id FROM related_runs WHERE run_id = ? ORDER BY other_began_at DESC NULLS LAST, other_run_id DESC"
    return [other for (other,) in warehouse.rows(query, [run_id])]


def _paths_and_names(store: Store, texts: Iterable[str], notify: Notify) -> tuple[list[str], list[str]]:
    """The parts that are paths, and those that are names; a part that is both is taken as a name, with a notice."""
    from ...warehouse.database import Warehouse

    if not any(is_path(part) for text in texts for part in _parts(None, text)):
        return [], []  # nothing to tell apart: whoever resolves them opens the store
    if not store.may_hold():
        parts = [part for text in texts for part in _parts(None, text)]
        return [part for part in parts if is_path(part)], [part for part in parts if not is_path(part)]
    paths: list[str] = []
    names: list[str] = []
    with Warehouse.open(store) as warehouse:
        for part in [part for text in texts for part in _parts(warehouse, text)]:
            is_name = not is_path(part) or _is_name(warehouse, part)
            (names if is_name else paths).append(part)
            if is_name and os.path.exists(part):
                notify(f"{part} is taken for the name of a run; for the path write {os.path.join('.', part)}")
    return list(dict.fromkeys(paths)), names


def _check_files(store: Store, texts: Iterable[str]) -> None:
    """Raise UnknownName for a mistyped name of a file, BenchError where there is nothing that it may be."""
    from ...warehouse.database import Warehouse

    for part in [part for text in texts for part in _parts(None, text) if not is_path(part)]:
        if near := near_files(part):
            if store.may_hold():
                with Warehouse.open(store) as warehouse:
                    if _is_name(warehouse, part):
                        continue
            raise UnknownName("run or file", part, near)
        if os.path.splitext(part)[1] and not store.may_hold():
            raise BenchError(f"there is no file {part}, and no store at {store} that may hold a run of that name")


def _parts(warehouse: "Warehouse | None", text: str) -> list[str]:
    """The names that a side joins with `+`; a name or path that exists as a whole may contain a `+`."""
    if "+" not in text or is_path(text) or (warehouse is not None and _is_name(warehouse, text)):
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
