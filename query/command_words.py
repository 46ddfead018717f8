"""Words of recorded command lines."""

from collections.abc import Iterator, Mapping, Sequence

MANY = -1  # values of an option: all words up to the next option


def without_options(words: Sequence[str], options: Mapping[str, int]) -> Iterator[str]:
    """The words without some options and their values; those after `--` stay.

    Args:
        words: Of a command line.
        options: How many values each option has, or MANY.
    """
    values = 0
    for place, word in enumerate(words):
        if word == "--":
            yield from words[place:]
            return
        if values > 0:
            values -= 1
        elif values == 0 or word.startswith("--"):
            name, given, _ = word.partition("=")
            values = options.get(name, 0) if not given else 0
            if name not in options:
                yield word
