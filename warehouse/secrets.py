"""Secrets in command lines and variables: their values are replaced before anything is written."""

import os
import re

KEEP = "BENCH_KEEP_COMMAND_LINE"  # a variable: set to 1, command lines are stored as they are
MASK = "***"
# None of the patterns below finds anything without one of these; compiling them takes as long as a short command.
_HINTS = (
    "token", "secret", "passw", "passphrase", "credential", "key", "://", "bearer", "basic", "hf_", "sk-", "gh", "glpat", "xox",
    "aiza", "akia", "eyj",
)  # fmt: skip
_SECRET = (
    r"(?i)-*(?:.*[-_.])?"
    r"(?:token|secret|passw(?:or)?d|passphrase|credentials?|(?:api|access|private|secret|account|signing|auth)[-_]?key)"
)
_OF_LANGUAGE_MODELS = r"(?i)(?:bos|eos|pad|unk|sep|cls|mask|special|start|stop|image|max|new|per)[-_]?token"
_NAME = r"(?<![\w.-])(-{0,2}[A-Za-z_][\w.-]*)(=|\s+)"
_VALUE = r"""(?:'[^']*(?:'|$)|"[^"]*(?:"|$)|\\.|[^\s'"\\])+"""  # of a shell: quoted parts and others
_NUMBER = r"['\"]?[-+]?[\d.,]+(?:[eE][-+]?\d+)?['\"]?"
_HEADER = r"(?i)\b(bearer|basic|x-api-key:|private-token:)(\s+)[\w.~+/=-]{8,}"
_IN_URL = r"(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@'\"]*):[^\s/@'\"]+@"
# Forms that services give out: Hugging Face, OpenAI, GitHub, GitLab, Slack, Google, AWS, and JSON web tokens.
_KNOWN = (
    r"\b(?:hf_\w{20,}|sk-[\w-]{20,}|gh[opsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}"
    r"|AIza[\w-]{30,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+)"
)


def masked(text: str) -> str:
    """A command line with `***` for the values of what looks like a secret; numbers stay.

    These are the values of options and variables whose names end with token, secret, password, API key and the like, but not
    of a language model's tokens (`--eos-token`); and, wherever they stand, credentials in a URL or a header, and tokens in the
    forms of well-known services. BENCH_KEEP_COMMAND_LINE=1 keeps all.
    """
    if os.environ.get(KEEP, "") not in ("", "0") or not _may_hold_one(text):
        return text
    parts, kept = [], 0
    for found in re.finditer(_NAME, text):
        (name, by), begin = found.groups(), found.end()
        is_option = name[0] == "-"
        if begin < kept or not is_secret(name) or (by != "=" and (not is_option or text[begin : begin + 1] == "-")):
            continue
        is_quoted = is_option and by == "=" and text[: found.start()].endswith("'")
        value = re.match(r"[^']*" if is_quoted else _VALUE, text[begin:])
        if value and not re.fullmatch(_NUMBER, value[0]):
            parts += [text[kept:begin], MASK]
            kept = begin + value.end()
    text = "".join([*parts, text[kept:]])
    for pattern, mask in ((_HEADER, rf"\1\2{MASK}"), (_IN_URL, rf"\1:{MASK}@"), (_KNOWN, MASK)):
        text = re.sub(pattern, mask, text)
    return text


def masked_variable(name: str, value: str) -> str:
    """The value of an environment variable, masked like a command line; all of it if its name is one of a secret."""
    return MASK if value and is_secret(name) else masked(value)


def is_secret(name: str) -> bool:
    """Whether an option or a variable of this name has a value that nobody should read."""
    return _may_hold_one(name) and bool(re.fullmatch(_SECRET, name)) and not re.search(_OF_LANGUAGE_MODELS, name)


def _may_hold_one(text: str) -> bool:
    plain = text.lower()
    return any(hint in plain for hint in _HINTS)
