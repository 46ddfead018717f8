"""A view and all table macros below it as one query, in which nothing is planned twice.

DuckDB plans a table macro anew wherever it is called, and a step in WITH at twice the price of a subquery. Of a comparison, steps
of steps of steps, that was most of the time. Here what is called several times with equal arguments is one materialized step, and
a step that is read once is a subquery. The files keep to the layout that this reads: `WITH` stands alone in its line, and a
step begins one.
"""

import re
from collections import Counter

from . import View, views

_COMMENT = re.compile(r"('[^']*')|--[^\n]*")
_STEP = re.compile(r"^(\w+) AS (MATERIALIZED )?\(", re.MULTILINE)
_READ = re.compile(r"'[^']*'|\b(FROM|JOIN)\s+(\w+)\b(?!\()(?:\s+AS (\w+))?")
_CALL = re.compile(r"'[^']*'|\b(FROM|JOIN)\s+(\w+)\(([^()]*)\)(?:\s+AS (\w+))?")
# what comes before the group is no argument: a text, an alias, a qualified column, a named argument, a function
_NAME = re.compile(r"'[^']*'|\bAS \w+|\b\w+\.\w+|\b\w+ :=|\b\w+\(|\b(\w+)\b")


def whole(view: View) -> str:
    """The body of a view or macro, with those of all table macros below it."""
    called: dict[tuple[str, ...], str] = {}  # body of a macro by its name and arguments, what it calls first
    steps, last = _parts(_with_calls(_bare(view.body), called))
    bodies = {_step(call, called): body for call, body in called.items()}
    reads = _reads([*bodies.values(), *(body for body, _ in steps.values()), last])
    shared = {name: (body, "MATERIALIZED " if reads[name] > 1 else "") for name, body in bodies.items()}
    return _nested(shared | steps, last)


def _with_calls(body: str, called: dict[tuple[str, ...], str]) -> str:
    """The body, reading a step wherever it called a macro; adds these to `called`."""

    def read(match: re.Match[str]) -> str:
        keyword, name, given, alias = match.groups()
        macro = views().get(name or "")
        if macro is None or not macro.columns:
            return match[0]
        arguments = _arguments(macro, given)
        call = (name, *arguments.values())
        if call not in called:
            asked = _NAME.sub(lambda word: arguments.get(word[1] or "", word[0]), _bare(macro.body))
            called[call] = _nested(*_parts(_with_calls(asked, called)))  # after what it calls itself
        step = _step(call, called)
        return f"{keyword} {step} AS {alias or name}" if alias or step != name else f"{keyword} {step}"

    return _CALL.sub(read, body)


def _step(call: tuple[str, ...], called: dict[tuple[str, ...], str]) -> str:
    """The name of a macro's step: with a number where it is called with several arguments."""
    place = [each for each in called if each[0] == call[0]].index(call)
    return f"{call[0]}_{place + 1}" if place else call[0]


def _arguments(macro: View, given: str) -> dict[str, str]:
    """The arguments of a call by name, in the order of the macro's."""
    arguments = {argument.name: argument.default or "NULL" for argument in macro.arguments or ()}
    for name, part in zip(list(arguments), filter(None, given.split(",")), strict=False):
        named, _, value = part.rpartition(":=")
        arguments[named.strip() or name] = value.strip()
    return arguments


def _parts(body: str) -> tuple[dict[str, tuple[str, str]], str]:
    """The steps of a body, each with MATERIALIZED or nothing, and the SELECT after them."""
    if not body.startswith("WITH\n"):
        return {}, body
    head, _, last = body.partition("\n\nSELECT")
    _, *pieces = _STEP.split(head)
    steps = {
        name: (text.strip().removesuffix(",").removesuffix(")").strip(), materialized or "")
        for name, materialized, text in zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    }
    return steps, f"SELECT{last}"


def _nested(steps: dict[str, tuple[str, str]], last: str) -> str:
    """A query of these steps: those that are read once, and are not to be materialized, as subqueries."""
    reads = _reads([*(body for body, _ in steps.values()), last])
    inner, kept = dict[str, str](), list[str]()

    def put(match: re.Match[str]) -> str:
        keyword, name, alias = match.groups()
        return f"{keyword} (\n{inner[name]}\n) AS {alias or name}" if name in inner else match[0]

    for name, (body, materialized) in steps.items():
        text = _READ.sub(put, body)
        if reads[name] == 1 and not materialized:
            inner[name] = text
        else:
            kept.append(f"{name} AS {materialized}(\n{text}\n)")
    last = _READ.sub(put, last)
    return "WITH\n" + ",\n".join(kept) + f"\n\n{last}" if kept else last


def _reads(bodies: list[str]) -> Counter[str]:
    """The number of times each step is read."""
    return Counter(match[2] for body in bodies for match in _READ.finditer(body) if match[2])


def _bare(body: str) -> str:
    """A body without comments."""
    return _COMMENT.sub(lambda match: match[1] or "", body)
