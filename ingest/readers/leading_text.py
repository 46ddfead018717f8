"""Text before results: before a JSON document, and what the log of a CI job writes before each line."""

import contextlib
import itertools
import json
import re

BEGINNING = re.compile(r"^[ \t]*[{\[](?=\s*(?:[\"{\[\]}]|-?\d))", re.MULTILINE)  # of a document, in a line
NUMBERS = re.compile(r"\s*\[\s*-?\d")  # a list of numbers, or the time of an entry of a log
ENDED = re.compile(r"[ \t\r]*(?:\n\s*(?![,\]})\s])|\Z)")  # after a document; within a larger one, more of that follows
ENTRY = re.compile(r"[ \t]*\{.*\}[ \t\r]*\n")  # of a log in JSON lines
MOST_BEGINNINGS = 100  # that are tried
LOGGED = re.compile(  # of GitHub's job (and step, as gh writes them), of GitLab's; a service of docker compose
    r"^(?:(?:[^\t\n]{1,200}\t[^\t\n]{1,200}\t)?\ufeff?(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d)\.(?:\d{7}Z ?|\d{6}Z \d\d[OE][+ ]?)"
    r"|[\w.-]{1,60}-\d{1,4} +\| ?)",
    re.MULTILINE,
)


def unlogged(text: str) -> tuple[str, str | None]:
    """The text that a job printed, of its log, and when the first line was written; of any other text itself, and None."""
    first = LOGGED.match(text)
    return (LOGGED.sub("", text), first[1]) if first else (text, None)


def document_in(text: str) -> tuple[str, int]:
    """The JSON document in a text that a program printed something before, and the number of lines before it.

    A text that begins as a document, or that holds none, is returned as it is; entries of a log, each an object in a line of
    its own before a list of several lines, are no document.
    """
    first = BEGINNING.search(text)
    if first is None or (not text[: first.start()].strip() and not NUMBERS.match(text, first.start())):
        return _list_after_entries(text)
    for begun in itertools.islice(BEGINNING.finditer(text), MOST_BEGINNINGS):
        try:
            value, end = json.JSONDecoder().raw_decode(text, begun.end() - 1)
        except (ValueError, RecursionError):
            continue
        if value and ENDED.match(text, end):
            return text[begun.start() :], text.count("\n", 0, begun.start())
    return text, 0


def _list_after_entries(text: str) -> tuple[str, int]:
    begin, before = 0, 0
    while before < MOST_BEGINNINGS and (entry := ENTRY.match(text, begin)):
        begin, before = entry.end(), before + 1
    if before and text.startswith("[", begin):
        with contextlib.suppress(ValueError, RecursionError):
            _, end = json.JSONDecoder().raw_decode(text, begin)
            if ENDED.match(text, end) and "\n" in text[begin:end]:
                return text[begin:], before
    return text, 0
