"""Which commands are run: words, placeholders, products of parameters."""

from collections.abc import Sequence
from typing import Any

import pytest
from bench.measure.commands.plan import Hooks, Template, parameter_of, plan, template_of
from bench.warehouse.errors import BenchError
from hypothesis import given
from hypothesis import strategies as st


def words(templates: Sequence[Template], **options: Any) -> list[list[tuple[str, ...]]]:
    return [[side.words for side in sides] for sides in plan(templates, **options)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n=1,10,100", [1, 10, 100]),
        ("n=1..4", [1, 2, 3, 4]),
        ("n=1..10..4", [1, 5, 9]),
        ("n=3..1", [3, 2, 1]),
        ("n=0..0.3..0.1", [0, 0.1, 0.2, 0.3]),
        ("n=1,2,2..3,x", [1, 2, 3, "x"]),
        ("n=007,1e3,nan,0.50", ["007", "1e3", "nan", "0.50"]),
        ("n=a\\,b,c=d", ["a,b", "c=d"]),
    ],
)
def test_values_and_scans(text: str, values: list[Any]) -> None:
    """Decimal steps are exact, ends included; what would be written otherwise stays text."""
    name, found = parameter_of(text)

    assert (name, found) == ("n", values)
    assert [type(value) for value in found if value != 0] == [type(value) for value in values if value != 0]


@pytest.mark.parametrize("text", ["n", "n=", "=1", "n=1..5..0", "n=1..5..-1", "n=0..1e9..1", "n=0..999999"])
def test_what_is_no_parameter_is_refused(text: str) -> None:
    """Before anything runs; a number in scientific notation is no end of a scan but a text."""
    if text == "n=0..1e9..1":
        assert parameter_of(text) == ("n", ["0..1e9..1"])
        return
    with pytest.raises(BenchError):
        parameter_of(text)


def test_a_value_stays_within_its_word() -> None:
    """Spaces and quotes in it start no new one; a shell gets the text as it is."""
    template = Template("cat 'a {f}' {f}")

    assert template.fill({"f": "b c'"}, shell=False) == ("cat", "a b c'", "b c'")
    assert template.fill({"f": "x|y"}, shell=True) == ("/bin/sh", "-c", "cat 'a x|y' x|y")


def test_other_braces_are_left_alone() -> None:
    """As awk wants them; and what was filled in is not looked at again."""
    template = template_of(("awk", "{print $1}", "{a}{b}"))

    assert template.fill({"a": "{b}", "b": 1}, shell=False) == ("awk", "{print $1}", "{b}1")


@given(st.lists(st.text(), min_size=1))
def test_words_are_run_as_they_were_given(given_words: list[str]) -> None:
    """Whatever they hold."""
    assert template_of(given_words).fill({}, shell=False) == tuple(given_words)


def test_words_are_called_as_one_would_type_them() -> None:
    """Quoted where a shell needs it; a placeholder needs nothing."""
    assert template_of(["sort", "--parallel={n}", "my file", "{}"]).text == "sort --parallel={n} 'my file' '{}'"


def test_several_commands_are_compared_at_equal_parameters() -> None:
    """A single one with itself."""
    two = [Template("a {n}"), Template("b {n}")]
    axes = [("n", [1, 2])]

    assert words(two, parameters=axes) == [[("a", "1"), ("b", "1")], [("a", "2"), ("b", "2")]]
    assert words(two[:1], parameters=axes) == [[("a", "1"), ("a", "2")]]


def test_parameters_are_a_product() -> None:
    """The last one moves fastest."""
    found = words([Template("{a}{b}")], parameters=[("a", [1, 2]), ("b", ["x", "y"])])

    assert found == [[("1x",), ("1y",), ("2x",), ("2y",)]]


def test_a_side_is_shown_as_it_runs_or_by_its_name() -> None:
    """With its parameters."""
    (sides,) = plan([Template("a {n}")], parameters=[("n", [5])])
    (named,) = plan([Template("a {n}")], names=["A"], parameters=[("n", [5])])

    assert (str(sides[0]), str(named[0])) == ("a 5", "A n=5")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"parameters": [("m", [1])]}, "no placeholder '{m}' in any command. Known: 'n'"),
        ({"parameters": [("n", [1]), ("n", [2])]}, "given twice"),
        ({"names": ["x", "y"]}, "2 names for 1 command"),
        ({"templates": [Template("a"), Template("a")]}, "called the same"),
        ({"templates": [Template("")]}, "empty command"),
        ({"templates": [Template("a 'b")]}, "cannot be split"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    """With the cure."""
    with pytest.raises(BenchError, match=said):
        plan(**{"templates": [Template("a {n}")], **options})


def test_a_parameter_may_be_for_the_preparation_alone() -> None:
    """Such as the branch to check out."""
    hooks = [Hooks(prepare=Template("git checkout {branch}"))]

    assert len(words([Template("make")], parameters=[("branch", ["a", "b"])], hooks=hooks)[0]) == 2


@pytest.mark.parametrize("text", ["a | b > c", "make && ./run", "sort < in"])
def test_a_command_with_what_only_a_shell_understands_names_the_option(text: str) -> None:
    """Words after -- are taken as they are, and with --shell the text is."""
    with pytest.raises(BenchError, match="which only a shell understands"):
        Template(text).fill({}, shell=False)

    assert Template(text).fill({}, shell=True)[-1] == text
    assert Template("a | b", ("a", "|", "b")).fill({}, shell=False) == ("a", "|", "b")
    assert Template("grep 'a|b' x").fill({}, shell=False) == ("grep", "a|b", "x")
