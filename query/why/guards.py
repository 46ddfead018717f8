"""Guards of torch.compile that failed: what was asked, and at which line of the user's code."""

import os
import re

# A guard is its code, the line that made it, the place of that, and a hint.
_COMMENT, _HINT = "  # ", " (HINT: "
_PLACE = re.compile(r"(.+):(\d{1,9}) in (\S+)")
_COUNT = re.compile(r"^\d+/\d+: ")  # of the code whose guard failed


def failed_guard(reason: str, file: str, line: int, function: str) -> tuple[str, str]:
    """The guard that failed, with torch's hint, and its place: the line that made it, else where the function begins.

    Args:
        reason: What torch says, of which the first line counts: the guard, the text and place of its line, a hint. It shortens
            the path of a file by letters.
        file: Of the function that is compiled again.
        line: Where that begins.
        function: Its name.
    """
    text, hinted, hint = _COUNT.sub("", reason.partition("\n")[0]).strip().partition(_HINT)
    guard, _, comments = text.partition(_COMMENT)
    source, _, place = comments.rpartition(_COMMENT)
    begins = f"{file}:{line} in {function}"
    found = _PLACE.fullmatch(place)
    if found is None:
        return f"{text}{hinted}{hint}", begins
    if os.path.basename(found[1]) == os.path.basename(file):
        begins = f"{file}:{found[2]} in {found[3]}"
    elif source:  # of another file of the user's; without it, of torch's
        begins = place
    return f"{guard.rstrip()}{hinted}{hint}", begins
