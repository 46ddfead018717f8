"""Which workloads of a plan are measured."""

import re
from typing import Any

import pytest
from bench.measure.engine.workload import Workload
from bench.measure.models.product import product
from bench.measure.models.selection import Partition, part_of, pattern, select
from bench.measure.suites.model import Model
from bench.warehouse.errors import BenchError, NothingToShow, UnknownName
from hypothesis import given
from hypothesis import strategies as st

NAMES = ("bert", "bert_large", "gpt2", "resnet18")


def plan(*names: str, batch_sizes: tuple[int, ...] = (1,)) -> list[Workload]:
    models = {name: Model("m:C", 1) for name in names or NAMES}
    axes: dict[str, Any] = {"modes": ["inference"], "devices": ["cpu"], "dtypes": ["float32"]}
    return product("s", models, backends=[], batch_sizes=batch_sizes, **axes)


@pytest.mark.parametrize(
    ("choice", "left"),
    [
        ({}, ["bert", "bert_large", "gpt2", "resnet18"]),
        ({"only": ["gpt2", "bert"]}, ["bert", "gpt2"]),
        ({"keep": ["BERT"]}, ["bert", "bert_large"]),
        ({"keep": ["^gpt", "18$"]}, ["gpt2", "resnet18"]),
        ({"keep": ["bert"], "leave": ["large"]}, ["bert"]),
        ({"leave": ["[0-9]"]}, ["bert", "bert_large"]),
        ({"leave_exactly": ["bert"]}, ["bert_large", "gpt2", "resnet18"]),
    ],
)
def test_models_are_chosen_by_name(choice: dict[str, Any], left: list[str]) -> None:
    """A pattern may stand anywhere in the name, in either case; of several, any counts; a name is exact."""
    patterns: Any = {
        key: list(map(pattern, value)) if key in ("keep", "leave") else value for key, value in choice.items()
    }

    assert [workload.name for workload in select(plan(), **patterns)] == left


def test_a_choice_that_leaves_nothing_says_what_there_is() -> None:
    """A measurement of nothing is no success."""
    with pytest.raises(NothingToShow, match="They are: bert, bert_large, gpt2, resnet18"):
        select(plan(), keep=[re.compile("llama")])


def test_a_name_that_is_not_planned_is_answered_with_the_nearest() -> None:
    """Also one to leave out: it would be measured after all."""
    with pytest.raises(UnknownName, match="Nearest: 'gpt2'"):
        select(plan(), only=["gtp2"])
    with pytest.raises(UnknownName, match="Nearest: 'gpt2'"):
        select(plan(), leave_exactly=["gtp2"])


@given(workloads=st.integers(0, 40), count=st.integers(1, 12))
def test_parts_are_the_whole_and_share_nothing(workloads: int, count: int) -> None:
    """None twice, none left out, and no part longer than another by more than one."""
    whole = plan("m", batch_sizes=tuple(range(1, workloads + 1))) if workloads else []
    parts = [Partition(number, count).of(whole) for number in range(1, count + 1)]

    assert sorted(w.batch_size for part in parts for w in part) == [w.batch_size for w in whole]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "a/b", "-1/4", ""])
def test_what_is_no_part_is_refused(text: str) -> None:
    """Parts count from 1 to their number."""
    with pytest.raises(BenchError, match="not a part of a plan"):
        part_of(text)


def test_a_part_reads_as_it_is_written() -> None:
    """As in 2/4."""
    assert str(part_of("2/4")) == "2/4"


def test_what_is_no_pattern_is_refused() -> None:
    """With the reason."""
    with pytest.raises(BenchError, match="not a valid regular expression: missing"):
        pattern("(")
