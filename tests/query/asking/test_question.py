"""One question, one declaration: the command, the Python function, the tool and the schema follow its fields."""

import inspect
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import click
import pytest
from bench.agents import caveats
from bench.agents.schemas import schema
from bench.agents.tools import Questions, tool
from bench.api import OpenStore, ask
from bench.query.change.command import Changes, history
from bench.query.comparison.command import Compare, compare
from bench.query.explain.command import Plan, plan
from bench.query.question import Floor, command_of, fields_of
from bench.query.regression.command import Regressions, regressions
from bench.warehouse.console.declared import Option, Surface
from bench.warehouse.store import Store


@dataclass(frozen=True, slots=True)
class Wider(Compare):
    """Compare more."""

    floor: Floor = field(default=0.5, kw_only=True)
    hosts: Annotated[Sequence[str], Option("Only these machines.")] = field(default=(), kw_only=True)
    loud: Annotated[bool, Option("Say more.", on=Surface.COMMAND)] = field(default=False, kw_only=True)


def test_an_option_that_is_declared_once_is_everywhere() -> None:
    """A new option, and a changed default, are those of the command, of Python and of the tool for agents."""
    options = {option.name: option for option in command_of(Wider).params}
    python = inspect.signature(ask(Wider)).parameters
    agents = inspect.signature(tool(Wider, caveats.of_comparison)).parameters

    assert "--hosts" in options["hosts"].opts
    assert [python[name].default for name in ("floor", "hosts")] == [0.5, ()]
    assert [agents[name].default for name in ("floor", "hosts")] == [0.5, None]
    assert "hosts: Only these machines." in str(ask(Wider).__doc__)


def test_an_option_of_the_command_alone_is_no_argument() -> None:
    """Neither Python nor agents choose how the output looks."""
    assert "loud" in {option.name for option in command_of(Wider).params}
    assert "loud" not in inspect.signature(ask(Wider)).parameters
    assert "loud" not in inspect.signature(tool(Wider, caveats.of_comparison)).parameters


@pytest.mark.parametrize(
    ("question", "command"), [(Compare, compare), (Regressions, regressions), (Changes, history), (Plan, plan)]
)
def test_a_command_has_the_options_of_its_question(question: Any, command: click.Command) -> None:
    """And those that say how rows are written; the schema is that of its view."""
    own = [each.name for each in fields_of(question)]
    tools = [each.tool_name for each in fields_of(question)]

    assert [option.name for option in command.params][: len(own)] == own
    assert inspect.signature(getattr(OpenStore, question.name)).parameters.keys() <= {"self", *own}
    assert inspect.signature(getattr(Questions, question.name)).parameters.keys() <= {"self", "limit", *tools}
    assert json.dumps(schema(question.name))


def test_an_unknown_argument_is_named(tmp_path: Any) -> None:
    """As any Python function does; an option of the command alone is unknown, too."""
    with pytest.raises(TypeError, match="everything"):
        OpenStore(Store(tmp_path)).compare("a", "b", everything=True)
