"""The characters of tables and sentences where the output's encoding lacks them: in a C locale, in Latin-1, in an old pipe."""

import codecs

ERRORS = "bench-ascii"  # handler of errors for `reconfigure`
_NEAREST = {
    "─": "-", "│": "|", "−": "-", "–": "-", "—": "-", "…": "...", "µ": "u", "±": "+-", "·": "|", "×": "x", "→": "->",
    "≤": "<=", "≥": ">=", "∞": "inf", "²": "2", "\u202f": " ", "\u00a0": " ", "▁": "_", "▂": ".", "▃": ",", "▄": "-", "▅": "=",
    "▆": "+", "▇": "*", "█": "#", "✓": "y", "✗": "n",
}  # fmt: skip


def _nearest(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_NEAREST.get(char) or char.encode("ascii", "backslashreplace").decode() for char in wrong), error.end


codecs.register_error(ERRORS, _nearest)
