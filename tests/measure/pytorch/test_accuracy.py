"""Accuracy: the rule, number by number; the statuses, by what eager and a backend do."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from bench.measure.pytorch.accuracy import compare, digest, kept, rule  # noqa: E402

FLOAT32 = rule("float32", "inference")


def one(values: Any, dtype: Any = torch.float32) -> dict[str, Any]:
    return {"output": torch.tensor(values, dtype=dtype)}


def right(expected: Any, actual: Any, reference: Any | None = None, how: Any = FLOAT32) -> bool:
    found = compare(one(expected), one(actual), None if reference is None else one(reference, torch.float64), how)
    assert bool(found.what) is not found.equal, "what is wrong is said"
    return found.equal


def test_close_is_enough() -> None:
    """Within the tolerance, absolute and relative; the largest difference is recorded all the same."""
    assert right([1.0, 100.0], [1.0001, 100.009])
    assert compare(one([1.0]), one([1.5]), None, FLOAT32).error == 0.5


def test_a_backend_may_be_as_wrong_as_eager_is() -> None:
    """Three times, of so few numbers: eager is off by 0.1 from float64, the backend by 0.3, then by 0.4."""
    reference, eager = [1.0, 2.0], [1.1, 2.1]

    assert right(eager, [0.7, 1.7], reference)
    assert not right(eager, [0.6, 1.6], reference)


def test_of_many_wide_numbers_it_may_be_twice_as_wrong() -> None:
    """And of as many small ones three times."""
    reference = torch.zeros(1000, dtype=torch.float64)

    def equal(dtype: Any, times: float) -> bool:
        eager, actual = torch.full((1000,), 0.125, dtype=dtype), torch.full((1000,), 0.125 * times, dtype=dtype)
        how = rule(str(dtype).removeprefix("torch."), "inference")
        return compare({"x": eager}, {"x": actual}, {"x": reference}, how).equal

    assert [equal(torch.float32, times) for times in (2, 2.5)] == [True, False]
    assert [equal(torch.bfloat16, times) for times in (2.5, 3.5)] == [True, False]


@pytest.mark.parametrize(
    ("shape", "expected"), [((1, 4000, 1, 1), True), ((1, 1000, 2, 2), False), ((4000, 1, 1), False)]
)
def test_kernels_of_one_by_one_may_be_three_times_as_wrong(shape: tuple[int, ...], expected: bool) -> None:
    """As in PyTorch's benchmarks: four dimensions, the last two of size 1."""
    eager, actual = torch.full(shape, 0.125), torch.full(shape, 0.125 * 2.5)

    assert (
        compare({"x": eager}, {"x": actual}, {"x": torch.zeros(shape, dtype=torch.float64)}, FLOAT32).equal is expected
    )


def test_without_a_reference_cosine_and_length_decide() -> None:
    """As they do where one asks for it; the cosine alone does not see that a result is three times too large."""
    assert right([1.0, 2.0, 3.0], [1.1, 2.1, 3.1])
    assert not right([1.0, 2.0, 3.0], [3.0, 2.0, 1.0])
    assert not right([1.0, 2.0, 3.0], [3.0, 6.0, 9.0])
    assert not right([1.0, 2.0, 3.0], [0.5, 1.0, 1.5])
    assert right([1.0, 2.0], [0.9, 1.8], [1.0, 2.0], rule("float32", "inference", cosine=True))
    assert not right([1.0, 2.0], [0.5, 1.0], [1.0, 2.0], rule("float32", "inference", cosine=True))
    assert not right([0.0, 0.0], [1.0, 1.0])
    assert compare(one([0.0, 0.0]), one([0.0, 0.0]), None, FLOAT32).cosine == 1.0, "zeros have no direction"


def test_nan_equals_nan_in_small_types_only() -> None:
    """A NaN for a number is wrong everywhere; a number for eager's NaN is right where float64 says so."""
    nan, half = math.nan, rule("bfloat16", "inference")

    assert not right([1.0, nan], [1.0, nan], [1.0, 2.0])
    assert right([1.0, nan], [1.0, nan], [1.0, 2.0], half)
    assert not right([1.0, 2.0], [1.0, nan], [1.0, 2.0], half)
    assert right([1.0, nan], [1.0, 2.01], [1.0, 2.0])
    assert not right([1.0, nan], [1.0, 3.0], [1.0, 2.0])


def test_nan_on_both_sides_is_told_from_a_wrong_number() -> None:
    """It is not right, and named as what it is, as long as all other numbers are right; one NaN alone is wrong."""
    nan = math.nan

    def found(expected: list[float], actual: list[float], reference: list[float] | None) -> tuple[bool, bool, str]:
        wide = None if reference is None else one(reference, torch.float64)
        compared = compare(one(expected), one(actual), wide, FLOAT32)
        return compared.equal, compared.both_nan, compared.what

    both = (False, True, "output: 1 of 2 numbers are NaN, as eager's are")
    assert found([1.0, nan], [1.0, nan], [1.0, nan]) == both
    assert found([1.0, nan], [1.0, nan], None) == both
    assert found([nan, nan], [nan, nan], [nan, nan])[:2] == (False, True)
    assert found([1.0, nan], [2.0, nan], [1.0, nan]) == (False, False, "output: RMSE 1 from float64, eager's is 0")
    assert found([1.0, 2.0], [1.0, nan], [1.0, 2.0])[2] == (
        "output: 1 of 2 numbers are NaN in eager or here, not in both"
    )


def test_another_shape_type_or_tensor_is_a_difference() -> None:
    """However close the numbers are; whole numbers must be equal."""
    x = torch.ones(3)
    for actual, what in (
        ({"output": torch.ones(4)}, "output: float32[4] instead of float32[3]"),
        ({"output": x.double()}, "output: float64[3] instead of float32[3]"),
        ({"output": x, "more": x}, "2 tensors instead of 1: more"),
    ):
        assert compare({"output": x}, actual, None, FLOAT32).what == what
    assert not compare({"n": torch.tensor([1, 2])}, {"n": torch.tensor([1, 3])}, None, FLOAT32).equal


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=20), st.sampled_from([None, "same"]))
def test_every_output_equals_itself(values: list[float], reference: str | None) -> None:
    """With or without a reference, whatever its size."""
    assert right(values, values, values if reference else None)


def test_tensors_are_found_by_place_and_kept() -> None:
    """In dicts, lists and tuples; a copy is not changed by what comes later."""
    value = {"loss": torch.tensor(1.0), "hidden": [torch.ones(2), (torch.zeros(1), "no tensor")]}
    copy = kept(value)
    before = digest(copy)
    value["loss"].add_(1)

    assert list(copy) == ["output.loss", "output.hidden[0]", "output.hidden[1][0]"]
    assert digest(copy) == before
    assert digest(kept(value)) != before


def test_a_shard_of_a_tensor_is_compared_with_eagers_shard() -> None:
    """By the cosine, since the reference is whole; and what is here of it is what is kept."""

    class Sharded:
        def to_local(self) -> Any:
            return torch.ones(1)

    gradient = torch.nn.Parameter(torch.ones(2))
    gradient.to_local = Sharded().to_local

    found = compare({"g": torch.ones(1)}, {"g": torch.ones(1)}, {"g": torch.ones(2, dtype=torch.float64)}, FLOAT32)

    assert (found.equal, found.cosine, found.rmse) == (True, 1.0, None)
    assert kept(gradient)["output"].shape == (1,)
