"""Formats whose results stand among the lines of a text that a tool printed."""

from abc import abstractmethod

from ...warehouse.console.numbers import counted
from ...warehouse.log import Batch
from ..format import Format, Part, Tally
from .document import BadRecord, instant, lines_of, read_text
from .json_format import reject_file
from .leading_text import unlogged
from .results import Results


class TextFormat(Format):
    """Results in the lines of a text."""

    unpacks = True
    printed = True

    def read(self, part: Part, batch: Batch) -> Tally:
        """Read the lines, and count in a note those that are no results; a text that cannot be read is one record."""
        results = Results(part, batch)
        try:
            text, written = unlogged(read_text(part))
            results.written = instant(written)
            lines = lines_of(text)
        except BadRecord as error:
            reject_file(results, error)
            return results.close()
        if other := self.load(lines, results):
            results.note(counted(other, "line", "is not a result", "are not results"))
        return results.close()

    @abstractmethod
    def load(self, lines: list[str], results: Results) -> int:
        """Add what the lines say, each result as a record of its own.

        Returns:
            How many lines were passed over without a word.
        """
