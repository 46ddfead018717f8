"""memory-lines: what each line held before, kept, and gave back, of one trace."""

from typing import Any

import pytest
from bench.viz.charts.memory_lines import draw
from bench.viz.output.figure import Figure
from bench.warehouse.errors import NothingToShow
from bench.warehouse.events import MemoryLine

from ...builders import Builder, case, outcome, run

MIB = 2**20


def traced(
    *lines: tuple[int, int, int], run_id: str = "main", builder: Builder | None = None, **fields: Any
) -> Builder:
    """A trace of a program: start, peak and end in MiB of its lines, each run twice."""
    one = case("train.py", run_id)
    return (builder or Builder()).add(
        run(run_id, started_at=1 if run_id == "main" else 2), one, outcome(one),
        *(
            MemoryLine(
                run_id=run_id, case_id=one.case_id, file="/src/train.py", line=number, hits=2,
                start_bytes=start * MIB, peak_bytes=peak * MIB, end_bytes=end * MIB,
                transient_bytes=(peak - max(start, end)) * MIB, **{"text": f"    f({number})", **fields},
            )
            for number, (start, peak, end) in enumerate(lines, start=1)
        ),
    )  # fmt: skip


def parts(figure: Figure) -> dict[str, list[tuple[str, float, float]]]:
    """By line, the parts that have a length."""
    found: dict[str, list[tuple[str, float, float]]] = {}
    for row, part, start, end in zip(*(figure.fields[name] for name in ("row", "part", "start", "end")), strict=True):
        found.setdefault(row, []).extend([(part, start, end)] if end > start else [])
    return found


def test_a_line_is_what_was_there_what_it_kept_and_what_it_gave_back() -> None:
    """Above what the program began with; its number, how often it ran and its text stand beside it."""
    figure = draw(traced((100, 100, 100), (100, 150, 120), (120, 120, 90)))

    assert parts(figure) == {
        "1 ×2  f(1)": [("before", 0, 10)],
        "2 ×2  f(2)": [("before", 0, 10), ("kept", 10, 30), ("transient", 30, 60)],
        "3 ×2  f(3)": [("freed", 0, 30)],
    }
    assert figure.spec(False)["encoding"]["x"]["title"] == "memory above its lowest, 90 MiB [MiB]"
    assert "20 MiB, 30 MiB transient" in figure.text(100, 10, False)


def test_a_long_line_keeps_its_number_and_loses_the_end_of_its_text() -> None:
    """Lines of much the same words are told apart by their numbers, in an image as on a phone."""
    text = "    loss = model(batch['input_ids'].to(device), labels=batch['labels'].to(device))"

    figure = draw(traced((100, 100, 100), (100, 150, 120), text=text), size=(3.3, 2.2))

    assert sorted(set(figure.fields["row"])) == ["1 ×2  loss = model(batch['input…", "2 ×2  loss = model(batch['input…"]
    brief = figure.interactive()["usermeta"]["brief"]
    assert [short[:18] for _, short in brief] == ["1 ×2  loss = model", "2 ×2  loss = model"]


def test_a_loop_shows_what_it_grew_by_in_all() -> None:
    """400 passes of a little each are much, though at its peak the line kept next to nothing."""
    figure = draw(traced((100, 100, 100), (137, 138, 138), increase_bytes=38 * MIB, decrease_bytes=0))

    assert parts(figure)["2 ×2  f(2)"] == [("kept", 0, 38)]


def test_the_lines_that_moved_memory_most_are_drawn() -> None:
    """In the order of the source; how many others there are is said."""
    figure = draw(traced((1, 1, 1), (1, 9, 9), (9, 9, 9), (9, 30, 9)), top=2)

    assert list(parts(figure)) == ["2 ×2  f(2)", "4 ×2  f(4)"]
    assert "2 of 4 lines, those that moved it most" in " ".join(figure.spec(False)["title"]["subtitle"])
    assert len(draw(traced((1, 1, 1), (1, 9, 9)), top=1, all_lines=True).rows) == 2


def test_of_several_traces_the_newest_is_drawn_and_the_others_are_told() -> None:
    """A kind of memory is a trace of its own, that of the program first."""
    builder = traced((1, 1, 1))
    traced((1, 2, 2), (2, 3, 3), run_id="main2", builder=builder)
    traced((5, 6, 6), run_id="main2", builder=builder, source="cuda_allocated", device_index=0)
    store = builder

    assert len(draw(store).rows) == 2
    assert draw(store).notes == ["2 other traces left out: choose with --runs, --models or --sources"]
    assert len(draw(store, sources=["cuda_allocated"]).rows) == 1


def test_without_a_trace_the_command_that_makes_one_is_said() -> None:
    """Never a blank chart."""
    with pytest.raises(NothingToShow, match=r"bench measure memory PROGRAM.py"):
        draw(Builder().add(run()))
