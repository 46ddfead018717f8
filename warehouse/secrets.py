"""Secrets in command lines, variables and messages: their values are replaced before anything is written.

This file is long because each program takes its secret in a way of its own.
"""

import dataclasses
import functools
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from .events import CaseRecord, Environment, Event, Metric, Outcome, Reject, RunChange, RunRecord

KEEP = (
    "BENCH_KEEP_COMMAND_LINE"  # a variable: set to 1, command lines are stored as they are; so says --keep-command-line
)
MASK = "***"
LONG = 8  # characters of a secret that is looked for wherever it stands; a shorter one may be any word
MOST_SEEN = 1000
FAR = 200  # characters before a name that may say what it is
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
# None of the patterns below finds anything without one of these; compiling them takes as long as a short command. Most programs
# and sentences need one of some more.
_PROGRAMS = (
    "mysql", "mariadb", "7z", "rar", "zip", "sshpass", " login", "mongo", "twine", "cqlsh", "ncftp", "lftp",
    "beeline", "rabbitmq", "redis", "valkey", "ipmitool", "sqlcmd", "bcp", "tsql", "mosquitto", "ldap",
    "smbclient", "freerdp", "mount", "secret set", "htpasswd", "net use", "sqlplus", "curl", "wget", "ab -",
    "hey -", "http -", "https -", "auth=", "auth ", "-pwd", "-pw", "rdesktop", "poetry", "mc alias", "mc config",
    "kubectl", "nmcli", "snyk", "ngrok", "proxy-user", "auth(", "login(", "gcloud", "rclone", "influx", "neo4j", "cypher-shell",
    "uv publish", "vercel", "netlify", "hatch", "gem push", "nuget", "passphrase", "iwconfig", "passwd", "useradd", "usermod",
    "bw unlock", "lpass login", "kaggle", "ollama", "wg set", "expect -", "--cred", "userpass", "user-pass", "authorization",
    "qpdf", "pdftotext", "_pw", "secrets set", "etcdctl", "vault", "xh", "oha", "pulumi", "-command",
)  # fmt: skip
_TAKE_TWO = ("openssl", "snmp", "ssh-keygen")
_SENTENCES = (
    "api key", "api-key", "access key", "secret key", "identified", "passw", "passphrase", "login", "-stdin", "sudo -s", "kinit",
    "cryptsetup", "secret", "token", "<<<",
)  # fmt: skip
_HEADER_NAMES = ("cookie", "x-", "api", "authorization", 'auth"', "auth'", "auth\\")
_HINTS = (
    "token", "secret", "credential", "key", "://", "bearer", "basic", "hf_", "sk-", "gh", "glpat", "xox", "aiza", "akia", "asia",
    "eyj", "npm_", "pypi-", "dckr_", "k_live", "nvapi", "sg.", "sess", "sig", "_pass", "-pass", "pass=", "code=", "dsn",
    "storepass", "keypass",
    "pwd", "jwt", "psk", "requirepass", "masterauth", "smbpass", "dbpass", "sonar", "webhooks",
    "-auth", "auth\"", "auth'", "auth\\", "passcode", "pass_phrase", "pswd", "pass\"", "pass'", "pass\\", "jdbc:oracle",
    "cookie", "sid=", "hmac", "otp", "_pat", "_auth", "signature", "authorization", *_SENTENCES, *_PROGRAMS, *_TAKE_TWO,
)  # fmt: skip
_SECRET = (
    r"(?i)-*(?:.*[-_.])?"
    r"(?:(?:auth)?token|pypi[-_]token[-_]\w+|secret|secret[-_]string|secret[-_]key[-_]base|otp|(?:gh|github|gitlab|azure|ado)[-_]pat|jwt|psk|oauth[-_]signature|sonar[-_.]login|requirepass|masterauth|(?:pg|my|db|root|user|admin|ssh)?passw(?:or)?d|(?:db|database|user|admin|root|sudo|become|proxy|mysql|pg|"
    r"postgres|redis|mongo|amqp|smtp|mail|s?ftp|ssh|ldap|login|registry|keystore|store|service|svc|api|app|smb|vault|my)[-_]?(?:pass|pwd|pw)|"
    r"(?:store|key)pass|pass[-_]?(?:phrase|code)|pswd|(?:set-)?cookies?|(?:php|j)?sess(?:ion)?id|credentials?|sshpass|"
    r"(?:redis(?:cli)?|npm|docker|registry)[-_]auth|app[-_]key|shared[-_]?access[-_]?signature|"
    r"account[-_.]key\.[\w.-]+|(?:api|access|private|secret|account|master|kaggle|signing|auth|encryption|fernet|hmac|sse-c(?:ustomer)?|client|license|subscription|storage|wandb|"
    r"openai|anthropic|azure|aws|gcp|hf|github|gitlab)[-_.]?key)"
)
_OF_LANGUAGE_MODELS = r"(?i)(?:bos|eos|pad|unk|sep|cls|mask|special|start|stop|image|max|new|per)[-_]?token"
_NAME = r"(?<![\w.-])(-{0,2}[A-Za-z_][\w.-]*)(=|\s+)"
_VALUE = r"""(?:'[^']*(?:'|$)|"[^"]*(?:"|$)|\\.|[^\s'"\\])+"""  # of a shell: quoted parts and others
_NUMBER = r"['\"]?[-+]?[\d.,]+(?:[eE][-+]?\d+)?['\"]?"
_QUOTED = (
    # of JSON, TOML, also within a quoted command
    r"""(?<![\w.\\-])(\\{0,4}["']?)([A-Za-z_][\w.-]*)\1(?:\]?(?:\s*(?::=?|=>)\s*|\s+=\s+)|\]=)(\\{0,4}["'])((?:(?!\3)(?:\\.|[^\\]))+)\3"""
)
_NO_TYPE = r"(?!(?:str|int|float|bool|bytes|None|null|true|false)\b)"
_LINE = rf"(?m)^([ \t]*(?:- )?([A-Za-z_][\w.-]*):[ \t]+){_NO_TYPE}(\S+)[ \t]*$"  # of YAML
# Stands before the name of what is set, without "=".
_SETTING = (
    r"(?:\bsetenv|(?i:\bsetx)|\bset\s+-\w*x\w*|(?i:\b(?:config|configure)\s+(?:--)?set)|\bgit config(?:\s+--\w+)*|"
    r"\bremote modify(?:\s+--\w+)*\s+\S+(?:\s+--\w+)*|\bconfig create\s[^|;&\n]*)\s+(?:\S*[:/])?$"
)
# A word after these is a secret if it is one of no language: base64, or with a digit, or long.
_HEADER = (
    r"(?i:\b(bearer|x-api-key:|private-token:)((?:\s|\\ )+))(?=[^\s'\"]*(?:\d|=|[a-z][A-Z])|[^\s'\"]{20})[\w.~+/=-]{8,}"
)
_BASIC = (
    r"\b([Bb]asic|BASIC)((?:\s|\\ )+)(?=[^\s'\"]*(?:\d|=|[a-z][A-Z]))(?:[A-Za-z0-9+/]{4}){2,}"
    r"(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?(?![\w=.-])"
)
_IN_URL = r"(?i)\b([a-z][a-z0-9+.-]*://[^\s/:@'\"]*):[^\s/@'\"]+@"
_DSN = r"(?i)(dsn\\?['\"]?\s*[:=\s]\s*\\?['\"]?[a-z][\w+.-]*://)[^\s/:@'\"]+@"  # of Sentry: the user is the key
# These names may mean something else, such as a compiler's pass or a key to sort by; what no person typed is a secret.
_MADE_BY_A_MACHINE = (
    r"((?<![\w.-])(?:--(?:pass|key)[\s=]+|(?:PASS|KEY)=|(?<=[?&])code=)['\"]?)(?=[\w+=-]*[a-z])(?=[\w+=-]*[A-Z])"
    r"(?=(?:[A-Za-z_+=-]*\d){3})[\w+=-]{16,}(?![\w./:])"
)
_ALONE_IN_URL = r"\b([A-Za-z][\w+.-]*://)(?=[^\s/:@'\"]*\d)[^\s/:@'\"]{20,}@"
# Parameters of an address, and those of them that are secrets beside what is one anywhere; headers, also within a quoted command;
# texts of programs that ask for a password or are given one; -pX of programs that take a password so, -u of others.
_PARAMETER = r"([?&;])(?:[\w.-]+(?:%5B|\[))?([\w.-]+)(?:%5D|\])?=([^&;\s'\"#<>)\]]+)"
_OF_ADDRESSES = (
    r"(?i)sig|signature|x-(?:amz|goog)-(?:signature|credential)|awsaccesskeyid|googleaccessid|key|auth|"
    r"pwd|pass|sid|hmac"
)
# A word of a list after the name of an option; the second argument of a call that sets the first; a header in quotes; elements
# and attributes of XML.
_IN_LIST = r"(['\"])(-{1,2}[A-Za-z][\w-]*)\1,\s*(['\"])((?:(?!\3)[^\\\n])+)\3"
_IN_CALL = r"(?i)\bset\w*\(\s*(['\"])([a-z]\w*)\1,\s*(['\"])((?:(?!\3)[^\\\n])+)\3"
_QUOTED_HEADER = rf"(['\"])([A-Za-z][\w-]*):\s*{_NO_TYPE}([^\s'\"\\]+)(?=\1)"
_ELEMENT = r"(<)([A-Za-z][\w.-]*)>([^<>\s]+)(?=</\2>)"
_ATTRIBUTES = r"\b(key|name)=['\"]([\w.-]+)['\"]\s+value=['\"]([^'\"\n]+)"
# The word "pass" directly after a user; the password in an address of Oracle's.
_IS = r"\\?['\"]?(?:\s*[=:]\s*|\s+)\\?['\"]?"
_AFTER_A_USER = (
    rf"(?i)((?<![\w-])-{{0,2}}user(?:[-_]?name)?{_IS}[^\s'\"=:,;&\\]+\\?['\"]?(?:\s*[,;&]\s*|\s+)\\?['\"]?-{{0,2}}pass{_IS})"
    r"([^\s'\",|;&\\]+)"
)
_OF_ORACLE = r"(?i)(jdbc:oracle:\w+:[\w$#]+/)([^\s@'\"/]+)(?=@)"
_HEADERS = (
    r"(?i)(\bcookies['\"]?\s*[=:]\s*)(\{[^{}\n]*\})",  # of a call in Python, or of JSON
    r"(?i)(\\*[\"']auth\\*[\"']\s*:\s*\\*[\"'])(?=[^\s'\"]*\d)([A-Za-z0-9+/]{12,}={0,2})(?=\\*[\"'])",  # of Docker
    r"(?i)(\bauthorization:[^'\"\n]{0,500}?\bsignature=)(\w+)",
    r"(?i)(\bauthorization:\s*digest\b[^'\n]{0,500}?\bresponse=\\?[\"']?)(\w+)",
    r"(?i)\b((?:set-)?cookie:\s*)([^'\"\n\\]*[^'\"\n\\\s])",
    r"(?i)\b((?:x-[\w-]*(?:token|key|secret|signature(?:-\d+)?|auth|session(?:-id)?)|api-?key):\s*(?:sha\d+=)?+)([^\s'\"\\]{4,})",
    r"(?i)(\\*[\"'](?:proxy-)?authorization\\*[\"']\s*[:=]\s*\\*[\"'](?:[a-z][\w-]*\s+)?)(?=[^\s'\"]*\d|[^\s'\"]{20})([^\s'\"\\]{8,})",
    r"(?i)\b((?:proxy-)?authorization:(?:\s|\\ )*(?:(?:bearer|basic|token|digest|negotiate|apikey)(?:\s|\\ )+|"
    r"(?:[a-z][\w-]*(?:\s|\\ )+)?(?=[^\s'\"]*\d)))([\w.~+/=:-]{6,})",
)
_SPOKEN = (
    r"(?i)(\bidentified\s+(?:with\s+\S+\s+)?by\s+['\"])([^'\"\n]+)",  # SQL
    r"(\b(?:(?i:password|passwd|passphrase)|SECRET)\s*(?:\(|\s)\s*['\"])([^'\"\n]+)",
    r"(?i)(\b(?:password|passwd|passphrase)\s*(?:=>|:=)\s*['\"]?)([^\s'\",;()]+)(?![(\w])",
    r"(?i)(\b(?:using password|password is|your (?:access )?token is|(?:api|access|secret)[- ]key is|"
    r"invalid (?:api|access|secret)[- ]key)\s+['\"]?)(?=[^\s'\")]*\d)([^\s'\")]{5,}[^\s'\").])",
    r"(?i)(\b(?:api|access|secret)[- ]key(?:\s+provided)?\s*:\s+['\"]?)(?=[^\s'\",;)]*\d)([^\s'\",;)]{7,}[^\s'\",;).])",
    r"(?i)(\b(?:password|passwd|passphrase)(?:\s+for\s+\S+?)?\s*:\s*['\"]?)(?=[^\s'\",;)]*\d)([^\s'\",;)]{4,})",
    r"(?i)(\b(?:invalid|expired|revoked|unknown) (?:\w+ )?token:?\s+['\"]?)(?=[a-z]+\d+[a-z])([a-z0-9]{12,})\b",
    r"(\blogin\s+\S+\s+password\s+)(\S+)",  # .netrc
    r"((?:pass\w*|token|secret|key)-file[\s=]<\((?:echo|printf)\s+(?:-\w+\s+)?['\"]?)([^\s'\")]+)",
    r"((?:\b(?:sudo\s+-\w*S|kinit|cryptsetup|(?:docker|podman)\s+login|secret\s+put|pass\s+insert)\b|-stdin\b|--with-token\b|\bsu\s+-)[^|;&<\n]{0,1000}<<<\s*['\"]?)([^\s'\"|;&]+)",
    r"(\b(?:echo|printf)\s+(?:-\w+\s+)?(?:['\"]%s(?:\\n)?['\"]\s+)?['\"]?)([^\s'\"|$]+)(?=['\"]?\s*\|[^|;&\n]*(?:sudo\s+-\w*S|-stdin\b|--with-token|passphrase-fd|passwd\b"
    r"|\b(?:docker|podman|nerdctl|skopeo|buildah|registry|wandb|vault)\s+login\b|kinit|cryptsetup))",
)


def _after(programs: str, options: str, value: str = r"(?!-)[^\s'\"|;&]+") -> str:
    """A pattern of two groups: all up to the value of such an option of such a program, and the value."""
    return rf"((?:^|(?<=[\s'\"/;|&(]))(?:{programs})\s(?:[^|;&\n]{{0,1000}}?\s)?(?:{options}))({value})"


_QUOTE = r"\s*['\"]?"
_PAIRS = r"'[^'\n]*=[^'\n]*'|\"[^\"\n]*=[^\"\n]*\"|[^\s'\"|;&=]+=[^\s'\"|;&]*"
_AFTER_A_PROGRAM = (
    _after(r"(?:mysql|mariadb)[\w-]*|7z\w*|rar|unrar", r"-h?p['\"]?"),
    _after(
        r"sshpass|(?:docker|podman|nerdctl|buildah|skopeo|oc|helm registry|az) login|rdesktop|"
        r"poetry publish|mongo[a-z]*|twine|cqlsh|ncftp\w*|beeline|"
        r"rabbitmqadmin",
        rf"-p{_QUOTE}",
    ),
    _after(r"(?:redis|valkey)-cli", r"(?i:AUTH)\s+(?:\S+\s+)?"),
    _after(r"mc", r"(?:alias|config host) (?:set|add)\s+\S+\s+\S+\s+\S+\s+"),
    _after(r"kubectl create secret", r"--from-literal[=\s][^\s=]+="),
    _after(r"nmcli|mysqladmin", r"password\s+['\"]?"),
    _after(r"poetry config", r"(?:pypi-token\S*|http-basic\S*\s+\S+)\s+"),
    _after(r"(?:redis|valkey)-(?:cli|benchmark)", rf"-a{_QUOTE}|--pass[\s=]+['\"]?"),
    _after(r"zip|unzip|ipmitool|sqlcmd|bcp|tsql|mosquitto_\w+", rf"-P{_QUOTE}"),
    _after(r"ldap[a-z]+", rf"-w{_QUOTE}"),
    _after(r"smbclient", rf"-U{_QUOTE}[^\s%'\"]+%"),
    _after(r"lftp", rf"-u{_QUOTE}[^\s,'\"]+,"),
    _after(r"\w*freerdp\d?", r"/p:['\"]?"),
    _after(r"mount(?:\.\w+)?", r"-o\s*[^\s'\"]*\bpass=", r"[^\s,'\"]+"),
    _after(r"gh secret set", rf"(?:-b|--body)[\s=]*{_QUOTE}"),
    _after(r"(?:wandb|vault|cargo) login|snyk auth|ngrok(?: config)? (?:add-)?authtoken", "", r"(?!-)[\w.-]{8,}"),
    _after(
        r"htpasswd",
        r"-\w*b\w*\s+(?:\d+\s+)?(?:-\S+\s+(?:\d+\s+)?)*(?:[^-\s'\"|;&]\S*\s+){1,2}['\"]?",
        r"[^-\s'\"|;&<>][^\s'\"|;&]*",
    ),
    _after(r"rabbitmqctl", r"(?:add_user|change_password)\s+\S+\s+['\"]?"),
    _after(r"net use", r"\\\\\S+\s+", r"(?!/)[^\s'\"|;&]+"),
    _after(r"sqlplus", r"[\w$#]+/", r"[^\s@'\"/]+"),
    _after(r"curl", r"-[A-Za-z]*b\s*", _PAIRS),
    _after(r"curl", rf"--pass[\s=]{_QUOTE}"),
    _after(r"ab", r"-C\s*", _PAIRS),
    _after(r"curl", r"-[A-Za-z]*[uU]\s*['\"]?[^\s:'\"/]+:"),
    _after(r"(?i:curl|wget|https?)", r"(?:-u|--user|--proxy-user|-U)[\s=]*['\"]?[^\s:'\"/]+:"),
    _after(r"ab|hey|https?|xhs?|oha", r"(?:-A|-a|--auth)[\s=]*['\"]?[^\s:'\"/]+:"),
    r"((?:(?<![\w-])--(?:(?:basic-|proxy-|http-)?auth|creds?|user-?pass)[\s=]|\b(?:BASIC|HTTP)_AUTH=)\s*['\"]?[^\s:'\"/]+:)"
    r"([^\s'\"|;&]+)",
    r"((?<![\w-])--authorization[\s=]+['\"]?)(?=[^\s'\"]*\d)([^\s'\"|;&]{8,})",
    r"((?<![\w-])--proxy-user[\s=]\s*['\"]?[^\s:'\"/]+:)([^\s'\"|;&]+)",
    r"(--auth-type[\s=](?:bearer|jwt)\s+(?:-a|--auth)[\s=]+['\"]?)([^\s'\"|;&]+)",
    r"(\b(?:auth=|HTTP(?:Basic|Digest)Auth)\(\s*['\"][^'\"\n]*['\"],\s*['\"])([^'\"\n]+)",
    r"(\blogin\(\s*key=['\"])([^'\"\n]+)",
    _after(r"rclone obscure|mkpasswd|bw unlock", ""),
    _after(r"kaggle|ollama|gem push", r"--key[\s=]+['\"]?"),
    _after(r"wg set", r"(?:private|preshared)-key\s+['\"]?", r"(?![-~./<])[^\s'\"|;&]+"),
    r"(\bexpect -\w*c\b[^\n]{0,1000}?\bsend (?:-- )?\\?[\"'])(?=[^\s\"'\\]*\d)([^\s\"'\\]{6,})(?=\\+[rn])",
    _after(r"(?:bw|lpass) login|wpa_passphrase|gcloud auth activate-refresh-token", r"[^\s-]\S*\s+['\"]?"),
    _after(r"influx", r"--?t(?:oken)?[\s=]+['\"]?"),
    _after(r"neo4j-admin", r"set-initial-password\s+['\"]?"),
    _after(r"cypher-shell|uv publish|useradd|usermod", rf"-p{_QUOTE}"),
    _after(r"uv publish|vercel", rf"-t{_QUOTE}"),
    _after(r"hatch publish", rf"-a{_QUOTE}"),
    _after(r"dotnet nuget push", rf"-k{_QUOTE}"),
    _after(r"netlify", r"--auth[\s=]+"),
    _after(r"iwconfig", r"key\s+(?:s:)?"),
    _after(r"smbclient", r"(?://|\\\\)\S+\s+['\"]?"),
    _after(r"curl", r"(?:-E|--cert|--proxy-cert)[\s=]*['\"]?[^\s:'\"]+:"),
    _after(r"curl", r"(?:-d|-F|--data[\w-]*|--form[\w-]*)[\s=]*['\"]?pass="),
    _after(r"openssl passwd", r"(?:-\w+\s+)?"),
    _after(r"qpdf", r"--encrypt\s+['\"]?"),
    _after(r"pdftotext|pdftoppm|pdfinfo", r"-[uo]pw\s+['\"]?"),
    _after(r"pdftk", r"(?:input|user|owner)_pw\s+['\"]?"),
    _after(r"fly(?:ctl)? secrets set|vault kv put", r"(?:\S+\s+)?\w+=['\"]?"),
    _after(r"vault write", r"secret_id=['\"]?"),
    _after(r"etcdctl", r"--user[\s=]+['\"]?[^\s:'\"]+:"),
    _after(r"pulumi config set", r"--secret\s+\S+\s+['\"]?"),
    r"(--password-command[\s=]+['\"]?echo\s+)([^\s'\"|;&]+)",
    r"((?<![\w-])--(?:pw|pwd)[\s=]\s*['\"]?)([^-~./$'\"\s][^\s'\"|;&]*)",
)
_OTHER = r"(?!-|\*\*\*)[^\s'\"|;&]+"
_SEVERAL = (  # programs that take two secrets
    _after(r"ssh-keygen", rf"-[NP]{_QUOTE}", _OTHER),
    _after(r"openssl", r"-[kK]\s+['\"]?|-pass(?:in|out)?\s+['\"]?pass:", _OTHER),
    _after(r"snmp\w+", rf"-[AX]{_QUOTE}|-c\s+(?!public\b)['\"]?", _OTHER),
)
_BY_HINTS = (
    (_HEADER_NAMES, _HEADERS), (("pass",), (_AFTER_A_USER,)), (("jdbc:oracle",), (_OF_ORACLE,)), (_SENTENCES, _SPOKEN),
    (_PROGRAMS, _AFTER_A_PROGRAM), (_TAKE_TWO, _SEVERAL * 2),
)  # fmt: skip
_SWITCH = r"['\"]?(?:true|false|yes|no|on|off|none|null)['\"]?"
# Forms that services give out: Hugging Face, OpenAI, GitHub, GitLab, Slack, Google, AWS, npm, PyPI, Docker, Stripe, SendGrid and
# NVIDIA; JSON web tokens.
_KNOWN = (
    r"\b(?:hf_\w{20,}|sk-[\w-]{20,}|gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeoprs]-[\w-]{10,}"
    r"|AIza[\w-]{30,}|A[KS]IA[0-9A-Z]{16}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]+|npm_\w{30,}|pypi-[\w-]{20,}|dckr_[a-z]+_[\w-]{16,}"
    r"|[rs]k_live_\w{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|nvapi-[\w-]{30,})|(?<=hooks\.slack\.com/services/)[\w/-]{20,}"
    r"|(?<=api\.telegram\.org/bot)\d+:[\w-]+|(?<=/api/webhooks/)\d+/[\w-]{30,}"
)
# Private keys, also one that is cut, and one whose lines end in the letters "\n".
_END_OF_LINE = r"(?:\r?\n|\\[nr])+"
_KEY_LINES = rf"[A-Za-z0-9+/=]+(?:{_END_OF_LINE}[A-Za-z0-9+/=]+)*(?:{_END_OF_LINE})?"
_BEGUN_KEY = rf"(-----BEGIN [A-Z ]*PRIVATE KEY-----{_END_OF_LINE}){_KEY_LINES}"
_ENDED_KEY = rf"(^|\n|\\n)((?>{_KEY_LINES}))(-----END [A-Z ]*PRIVATE KEY-----)?"  # each line is looked at once
_MASKS = (
    (_HEADER, rf"\1\2{MASK}"), (_BASIC, rf"\1\2{MASK}"), (_IN_URL, rf"\1:{MASK}@"), (_KNOWN, MASK),
    (_DSN, rf"\1{MASK}@"), (_ALONE_IN_URL, rf"\1{MASK}@"), (_BEGUN_KEY, rf"\1{MASK}"),
    (_MADE_BY_A_MACHINE, rf"\1{MASK}"), (r"(~hmac=)\w+", rf"\1{MASK}"),
)  # fmt: skip
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
    plain = text.lower()
    for hints, patterns in _BY_HINTS:
        for pattern in patterns if any(hint in plain for hint in hints) else ():
            text = re.sub(pattern, _without_second, text)
    for pattern in (_QUOTED, _LINE, _PARAMETER, _IN_LIST, _IN_CALL, _QUOTED_HEADER, _ELEMENT, _ATTRIBUTES):
        text = re.sub(pattern, _without_value, text)
    parts, kept = [], 0
    for found in re.finditer(_NAME, text):
        (name, by), begin = found.groups(), found.end()
        is_option = name[0] == "-"
        if begin < kept or not is_secret(name):
            continue
        before = text[max(0, found.start() - FAR) : found.start()]
        if before.endswith(("?", "&")):  # of an address: see _PARAMETER
            continue
        if by != "=" and (text[begin : begin + 1] in ("-", "<", "|") or not (is_option or re.search(_SETTING, before))):
            continue
        is_quoted = is_option and by == "=" and before.endswith("'")
        value = re.match(r"[^']*" if is_quoted else _VALUE, text[begin:])
        if value and not _is_innocent(value[0]):
            _remember(value[0])
            parts += [text[kept:begin], MASK]
            kept = begin + value.end()
    text = "".join([*parts, text[kept:]])
    for pattern, mask in _MASKS:
        text = re.sub(pattern, mask, text)
    if "PRIVATE KEY-----" in text:
        text = re.sub(_ENDED_KEY, lambda found: f"{found[1]}{MASK}{found[3]}" if found[3] else found[0], text)
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


def masked_words(words: Sequence[str]) -> list[str]:
    """Words of a command line, masked as its text is."""
    text = masked_command(shlex.join(words))
    try:
        return shlex.split(text)
    except ValueError:  # a mask that took a quote along
        return [MASK]


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
    if not _may_hold_one(name):
        return False
    words = re.sub(r"^-[DP](?=[a-z])|(?<=[a-z0-9])(?=[A-Z])", "-", name)  # of Java, too: -DkeyStorePassword
    return bool(re.fullmatch(_SECRET, words)) and not re.search(_OF_LANGUAGE_MODELS, words)


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
    is_parameter = found[0][0] in "?&;" and re.fullmatch(_OF_ADDRESSES, found[2])
    if not (is_parameter or is_secret(found[2])) or _is_innocent(value):
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
