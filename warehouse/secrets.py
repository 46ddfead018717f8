"""Secrets in command lines, variables and messages: their values are replaced before anything is written."""

import dataclasses
import functools
import os
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from .events import CaseRecord, Environment, Event, Metric, Outcome, Reject, RunChange, RunRecord

KEEP = (
    "BENCH_KEEP_COMMAND_LINE"  # a variable: set to 1, command lines are stored as they are; so says --keep-command-line
)
MASK = "***"
LONG = 8  # characters of a secret that is looked for wherever it stands; a shorter one may be any word
MOST_SEEN = 1000
# Columns that hold messages and texts of other programs, and those that hold command lines and what belongs to them.
TEXTS: dict[type[Event], tuple[str, ...]] = {
    Outcome: ("reason", "exception", "message", "stderr_tail"),
    Metric: ("original_value",),
    Reject: ("reason", "text"),
    RunChange: ("reason", "value"),
    Environment: ("variables", "flags", "extra"),
}
COMMANDS: dict[type[Event], tuple[str, ...]] = {
    RunRecord: ("command", "tags", "settings"),
    CaseRecord: ("name", "parameters"),
}
# None of the patterns below finds anything without one of these; compiling them takes as long as a short command.
_HINTS = (
    "token", "secret", "passw", "passphrase", "credential", "key", "://", "bearer", "basic", "hf_", "sk-", "gh", "glpat", "xox",
    "aiza", "akia", "eyj", "cookie", "sess", "sig", "_pass", "-pass", "_pwd", "sshpass", "mysql", "mariadb",
    "authorization", "curl", "wget", "redis", "valkey", "mongo", "ldap", "openssl", "7z", "zip", "smbclient", "login", ";pwd=",
    "x-auth", "apikey", "ab -", "hey -", "http -", "https -",
)  # fmt: skip
_SECRET = (
    r"(?i)-*(?:.*[-_.])?"
    r"(?:token|secret|(?:pg|my|db|root|user|admin|ssh)?passw(?:or)?d|(?:db|database|user|admin|root|proxy|mysql|pg|postgres|redis|"
    r"mongo|amqp|smtp|s?ftp|ssh|ldap|login|registry|keystore|service|svc|api|app)[-_](?:pass|pwd)|passphrase|(?:set-)?cookies?|"
    r"(?:php|j)?sess(?:ion)?id|credentials?|sshpass|"
    r"(?:redis(?:cli)?)[-_]auth|shared[-_]?access[-_]?signature|"
    r"(?:api|access|private|secret|account|signing|auth|encryption|sse-c(?:ustomer)?)[-_]?key)"
)
_OF_LANGUAGE_MODELS = r"(?i)(?:bos|eos|pad|unk|sep|cls|mask|special|start|stop|image|max|new|per)[-_]?token"
_NAME = r"(?<![\w.-])(-{0,2}[A-Za-z_][\w.-]*)(=|\s+)"
_VALUE = r"""(?:'[^']*(?:'|$)|"[^"]*(?:"|$)|\\.|[^\s'"\\])+"""  # of a shell: quoted parts and others
_NUMBER = r"['\"]?[-+]?[\d.,]+(?:[eE][-+]?\d+)?['\"]?"
_QUOTED = (
    r"""(?<![\w.-])(["']?)([A-Za-z_][\w.-]*)\1\]?(?:\s*:\s*|\s+=\s+)(["'])((?:\\.|(?!\3)[^\\])+)\3"""  # of JSON, TOML
)
_NO_TYPE = r"(?!(?:str|int|float|bool|bytes|None|null|true|false)\b)"
_LINE = rf"(?m)^([ \t]*(?:- )?([A-Za-z_][\w.-]*):[ \t]+){_NO_TYPE}(\S+)[ \t]*$"  # of YAML
_HEADER = r"(?i)\b(bearer|basic|x-api-key:|private-token:)(\s+)[\w.~+/=-]{8,}"
_IN_URL = r"(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@'\"]*):[^\s/@'\"]+@"
# Parameters of a signed address, and headers, also within a quoted command; -pX of programs that take a password so,
# -u of others.
_SIGNED = (
    r"(?i)([?&;](?:sig|signature|x-(?:amz|goog)-(?:signature|credential|security-token)|awsaccesskeyid|googleaccessid|access_token|"
    r"(?:api|access)[-_]?key|token|key|secret|password|auth)=|;pwd=)([^&;\s'\"#<>)\]]+)"
)
_HEADERS = (
    r"(?i)\b((?:set-)?cookie:\s*)([^'\"\n\\]*[^'\"\n\\\s])",
    r"(?i)\b((?:x-[\w-]*(?:token|key|secret|signature|auth)|api-?key):\s*)([^\s'\"\\]{4,})",
    r"(?i)(\\*[\"'](?:proxy-)?authorization\\*[\"']\s*[:=]\s*\\*[\"'](?:[a-z][\w-]*\s+)?)(?=[^\s'\"]*\d|[^\s'\"]{20})([^\s'\"\\]{8,})",
    r"(?i)\b((?:proxy-)?authorization:\s*(?:[a-z][\w-]*\s+)?)(?=[^\s'\"]*\d)([\w.~+/=:-]{8,})",
)


def _after(programs: str, options: str, value: str = r"(?!-)[^\s'\"|;&]+") -> str:
    """A pattern of two groups: all up to the value of such an option of such a program, and the value."""
    return rf"((?:^|(?<=[\s'\"/;|&(]))(?:{programs})\s(?:[^|;&\n]{{0,1000}}?\s)?(?:{options}))({value})"


_QUOTE = r"\s*['\"]?"
_PAIRS = r"'[^'\n]*=[^'\n]*'|\"[^\"\n]*=[^\"\n]*\"|[^\s'\"|;&=]+=[^\s'\"|;&]*"
_AFTER_A_PROGRAM = (
    _after(r"(?:mysql|mariadb)[\w-]*|7z\w*|rar|unrar", r"-p['\"]?"),
    _after(r"sshpass|(?:docker|podman|oc|helm registry) login|mongo[a-z]*", rf"-p{_QUOTE}"),
    _after(r"(?:redis|valkey)-(?:cli|benchmark)", rf"-a{_QUOTE}|--pass[\s=]+['\"]?"),
    _after(r"zip|unzip", rf"-P{_QUOTE}"),
    _after(r"openssl", r"-[kK]\s+['\"]?|-pass(?:in|out)?\s+['\"]?pass:"),
    _after(r"ldap[a-z]+", rf"-w{_QUOTE}"),
    _after(r"smbclient", rf"-U{_QUOTE}[^\s%'\"]+%"),
    _after(r"(?:wandb|vault) login", "", r"(?!-)[\w.-]{8,}"),
    _after(r"curl", r"-[A-Za-z]*b\s*", _PAIRS),
    _after(r"ab", r"-C\s*", _PAIRS),
    _after(r"(?i:curl|wget|https?)", r"(?:-u|--user|--proxy-user|-U)[\s=]*['\"]?[^\s:'\"/]+:"),
    _after(r"ab|hey|https?", r"(?:-A|-a|--auth)[\s=]*['\"]?[^\s:'\"/]+:"),
)
_SWITCH = r"['\"]?(?:true|false|yes|no|on|off|none|null)['\"]?"
# Forms that services give out: Hugging Face, OpenAI, GitHub, GitLab, Slack, Google, AWS, and JSON web tokens.
_KNOWN = (
    r"\b(?:hf_\w{20,}|sk-[\w-]{20,}|gh[opsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}"
    r"|AIza[\w-]{30,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+)"
)
_seen: set[str] = set()  # what this process has masked by its name, and masks wherever it stands from then on


def masked(text: str) -> str:
    """A text, such as a message or the end of a log, with `***` for the values of what looks like a secret; numbers stay.

    These are the values of options, variables and fields whose names end with token, secret, password, API key and the like,
    but not of a language model's tokens (`--eos-token`); cookies, signatures, `-pX` of mysql; and, wherever they
    stand, credentials in a URL or a header, tokens in
    the forms of well-known services, and the values of such variables and options of this process.
    """
    for secret in _seen | _of_environment():
        text = text.replace(secret, MASK)
    if not _may_hold_one(text):
        return text
    for pattern in (_SIGNED, *_HEADERS, *_AFTER_A_PROGRAM):
        text = re.sub(pattern, _without_second, text)
    for pattern in (_QUOTED, _LINE):
        text = re.sub(pattern, _without_value, text)
    parts, kept = [], 0
    for found in re.finditer(_NAME, text):
        (name, by), begin = found.groups(), found.end()
        is_option = name[0] == "-"
        if text[: found.start()].endswith(("?", "&")):  # of an address: see _SIGNED
            continue
        if begin < kept or not is_secret(name) or (by != "=" and (not is_option or text[begin : begin + 1] == "-")):
            continue
        is_quoted = is_option and by == "=" and text[: found.start()].endswith("'")
        value = re.match(r"[^']*" if is_quoted else _VALUE, text[begin:])
        if value and not _is_innocent(value[0]):
            _remember(value[0])
            parts += [text[kept:begin], MASK]
            kept = begin + value.end()
    text = "".join([*parts, text[kept:]])
    for pattern, mask in ((_HEADER, rf"\1\2{MASK}"), (_IN_URL, rf"\1:{MASK}@"), (_KNOWN, MASK)):
        text = re.sub(pattern, mask, text)
    return text


E = TypeVar("E", bound=Event)


def without_secrets(event: E) -> E:
    """The event with its texts masked."""
    kind = type(event)
    names = TEXTS.get(kind) or COMMANDS.get(kind, ())
    found = {name: text for name in names if (text := getattr(event, name))}
    if not found or (kind in COMMANDS and _are_kept()):
        return event
    changed = {name: new for name, text in found.items() if (new := masked(text)) != text}
    return dataclasses.replace(event, **changed) if changed else event  # type: ignore[type-var]


def masked_command(text: str) -> str:
    """A command line, masked unless BENCH_KEEP_COMMAND_LINE=1 keeps all."""
    return text if _are_kept() else masked(text)


def masked_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a case, each value masked like that of an option of its name, and lists like words of a command line."""
    return dict(parameters) if _are_kept() else {name: _masked_value(name, value) for name, value in parameters.items()}


def masked_variable(name: str, value: str) -> str:
    """The value of an environment variable, masked like a text; all of it if its name is one of a secret."""
    return MASK if value and is_secret(name) else masked(value)


def hints_of_secrets() -> set[str]:
    """Texts in lower case: what has none of them, in any case, has nothing that `masked` replaces."""
    return set() if _are_kept() else {*_HINTS, *(text.lower() for text in _seen | _of_environment())}


def is_secret(name: str) -> bool:
    """Return whether an option or a variable of this name has a value that nobody should read."""
    return _may_hold_one(name) and bool(re.fullmatch(_SECRET, name)) and not re.search(_OF_LANGUAGE_MODELS, name)


def _masked_value(name: str, value: Any) -> Any:
    if isinstance(value, str):
        if not is_secret(name) or re.fullmatch(_NUMBER, value):
            return masked(value)
        _remember(value)
        return MASK
    if isinstance(value, Mapping):
        return {str(inner): _masked_value(str(inner), item) for inner, item in value.items()}
    if isinstance(value, list | tuple):  # after an option, and not another option
        before = ["", *value]
        return [
            _masked_value(last if str(last).startswith("-") and str(item)[:1] != "-" else "", item)
            for last, item in zip(before, value, strict=False)
        ]
    return value


def _without_value(found: re.Match[str]) -> str:
    *_, value = found.groups()
    if not is_secret(found[2]) or _is_innocent(value):
        return found[0]
    _remember(value)
    begin, end = found.span(found.re.groups)
    return found[0][: begin - found.start()] + MASK + found[0][end - found.start() :]


def _without_second(found: re.Match[str]) -> str:
    """The match with its second group masked, unless that is a number."""
    if _is_innocent(found[2]):
        return found[0]
    _remember(found[2])
    return f"{found[1]}{MASK}"


def _is_innocent(value: str) -> bool:
    """Return whether a value says nothing that is worth hiding: a number, or a switch."""
    return bool(re.fullmatch(_NUMBER, value) or re.fullmatch(_SWITCH, value, re.IGNORECASE))


def _remember(value: str) -> None:
    value = value.strip("'\"")
    if len(value) >= LONG and MASK not in value and len(_seen) < MOST_SEEN:
        _seen.add(value)


@functools.cache
def _of_environment() -> frozenset[str]:
    """The values of this process's variables that are secrets, but for paths."""
    return frozenset(
        value
        for name, value in os.environ.items()
        if len(value) >= LONG and is_secret(name) and not re.fullmatch(_NUMBER, value) and not os.path.exists(value)
    )


def _are_kept() -> bool:
    return os.environ.get(KEEP, "") not in ("", "0")


def _may_hold_one(text: str) -> bool:
    plain = text.lower()
    return any(hint in plain for hint in _HINTS)
