"""Secrets in texts: tokens, passwords and private keys that a program's output should not show.

Torch writes every variable whose name contains "INDUCTOR" into `fx_graph_runnable.py` and its log;
programs print addresses with passwords in them. `scrub` puts words in the place of each such value.
It takes linear time, and little where there is nothing to find: the marks that secrets bear are
looked for first, by searches that skip to the next rare letter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

REMOVED = b"<secret removed>"

OWN_SETTING = "setting of Inductorscope"
"""The kind that tells that this installation, or another one, published what protects it."""
VARIABLE = "variable named as a secret"
URL_PASSWORD = "password in an address"  # noqa: S105  # the name of a kind
HUGGING_FACE, GITHUB, GITLAB = "Hugging Face token", "GitHub token", "GitLab token"
AWS, GOOGLE, SLACK, MODEL_API = "AWS key", "Google key", "Slack token", "key of a model's API"
PRIVATE_KEY = "private key"

PIECE = 4 * 1024 * 1024
LONGEST_HELD = 1024 * 1024
LONGEST_KEY = 32 * 1024

Found = Counter[str]
"""Kind of secret → how many were removed."""

# A value as it is assigned: quoted, quoted inside another quoted text (\"…\"), or bare. Torch
# writes ' and leaves a " in the value as it is; elsewhere a " may end what the ' is in.
_VALUE = (
    rb"""(?:"(?P<double>(?:\\.|[^"\\\n]){1,4000})"""
    rb"""|'(?P<single>(?:\\.|[^'"\\\n]|"(?=[^'\n]{0,200}'[ \t]{0,9}(?:\n|\Z))){1,4000})"""
    rb"""|\\{1,7}["'](?P<inner>[^"'\\\n]{1,4000})|(?P<bare>[^\s"'\\,;&|<>(){}\[\]\0]{1,4000}))"""
)
_ASSIGNED = rb"""(?:\\{0,7}["'])?\]?[ \t]{0,4}[=:][ \t]{0,4}""" + _VALUE
_OWN = re.compile(
    rb"INDUCTORSCOPE_(?:TOKEN|DATABASE_URL|[A-Z_]{0,40}(?:SECRET|PASSWORD|_KEY))" + _ASSIGNED
)
# os.environ['SOME_INDUCTOR_TOKEN'] = 'value': torch writes the value as it is, to the line's end.
_ENVIRON = re.compile(
    rb"os\.environ\[\\{0,7}[\"'][A-Z0-9_]{0,80}"
    rb"(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|API_KEY|ACCESS_KEY)[A-Z_]{0,20}" + _ASSIGNED,
    re.I,
)
_NAMED = re.compile(
    rb"(?:WANDB_API_KEY|(?:AWS|aws)_(?:SECRET_ACCESS_KEY|secret_access_key)"
    rb"|(?:AWS|aws)_(?:SESSION_TOKEN|session_token)|OPENAI_API_KEY|ANTHROPIC_API_KEY)" + _ASSIGNED
)
_URL = re.compile(
    rb"://[A-Za-z0-9._~%+\-]{0,100}:(?P<value>[^\s:/@\"'\\<>{}()\[\]$*`,;]{1,400})@(?=[A-Za-z0-9\[/])"
)
_KEY = re.compile(
    rb"-----BEGIN (?P<name>(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?)-----"
    rb"(?P<value>(?:[A-Za-z0-9+/=:,.\- \t\r\n]|\\[nrt]){1,20000}?)(?=-----END |-----BEGIN |\Z)"
)

# What secrets bear, each looked for by itself: a search for letters that come first, one or a few,
# skips to the next place that has them, which a choice among several searches would not.
_KEY_WORD = re.compile(rb"KEY")
_AT_HOST = re.compile(rb"@(?<=[^\s@\"'({\[,]@)(?=[A-Za-z0-9\[/])")
_ENVIRON_WORD = re.compile(rb"os\.environ\[")
_LOWER_KEY = b"aws_secret_access_key"
_HUGGING_FACE = re.compile(rb"hf_[A-Za-z0-9]{34}")
_GITHUB = re.compile(rb"g(?:h[pousr]_|ithub_pat_)[A-Za-z0-9]{16}")
_HYPHEN = re.compile(
    rb"-(?=[A-Za-z0-9_\-]{16})(?:(?<=\bsk-)|(?<=\bglpat-)|(?<=\bxox[abeoprs]-)|(?<=\bxapp-))"
)
_CAPITAL = re.compile(rb"A(?:KIA|SIA|Iza)[A-Za-z0-9_\-]{16}")

_SHAPES: dict[str, re.Pattern[bytes]] = {
    HUGGING_FACE: re.compile(
        rb"\b(?P<value>hf_(?=[a-z0-9]{0,60}[A-Z])(?=[A-Z0-9]{0,60}[a-z])[A-Za-z0-9]{34,40})\b"
    ),
    GITHUB: re.compile(
        rb"\b(?P<value>gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})\b"
    ),
    GITLAB: re.compile(rb"\b(?P<value>glpat-[A-Za-z0-9_\-]{20,64})(?![A-Za-z0-9_\-])"),
    AWS: re.compile(rb"\b(?P<value>A(?:KIA|SIA)[0-9A-Z]{16})\b"),
    GOOGLE: re.compile(rb"\b(?P<value>AIza[A-Za-z0-9_\-]{35})(?![A-Za-z0-9_\-])"),
    SLACK: re.compile(rb"\b(?P<value>(?:xox[abeoprs]|xapp)-(?:\d{1,20}-)[A-Za-z0-9\-]{10,250})"),
    MODEL_API: re.compile(
        rb"\b(?P<value>sk-(?:(?:ant|proj|svcacct|admin|or)-[A-Za-z0-9_\-]{20,250}"
        rb"|(?=[a-z]{0,60}[A-Z0-9])(?=[a-zA-Z]{0,60}[0-9])[A-Za-z0-9]{40,64}))(?![A-Za-z0-9_\-])"
    ),
}
_BY_SHAPE = (
    (_HUGGING_FACE, (HUGGING_FACE,)),
    (_GITHUB, (GITHUB,)),
    (_HYPHEN, (GITLAB, SLACK, MODEL_API)),
    (_CAPITAL, (AWS, GOOGLE)),
)

_NO_SECRETS = re.compile(
    rb"(?:\*+|x+|\.{2,}|<[^>]*>?|\$\{?\w*\}?|%\w*%?|\{\w*\}|none|null|true|false|password|passwd|pass"
    rb"|pw|secret|token|changeme|os\.\w.*|self\.\w.*|str|bytes|0|1|sqlite:.*"
    rb"|(?:\S* )?<secret removed>.*)",
    re.I | re.S,
)
"""Values that stand in the place of a secret, or are none."""


def scrub(text: bytes) -> tuple[bytes, Found]:
    """The text with words in the place of each secret, and what was removed. Lines stay lines: as
    many as before, each where it was."""
    found: Found = Counter()
    for pattern, kind in list(_suspected(text)):
        text = pattern.sub(_replacing(kind, found), text)
    return text, found


def scrub_pieces(read: Callable[[int], bytes], found: Found) -> Iterator[bytes]:
    """The same of what `read` gives, piece by piece, and what was removed into `found`."""
    held = b""
    while block := read(PIECE):
        data = held + block
        end = _place_to_cut(data)
        clean, removed = scrub(data[:end])
        found.update(removed)
        yield clean
        held = data[end:]
    clean, removed = scrub(held)
    found.update(removed)
    yield clean


def _place_to_cut(data: bytes) -> int:
    """Where no secret is likely to be cut in two."""
    least = max(0, len(data) - LONGEST_HELD)
    ends = (data.rfind(mark, least) + len(mark) for mark in (b"\n", b"},", b",", b" "))
    end = next((end for end in ends if end > least + 2), len(data))
    key = data.rfind(b"-----BEGIN ", max(1, end - LONGEST_KEY), end)
    return end if key < 0 or data.find(b"-----END ", key, end) >= 0 else key


def _suspected(text: bytes) -> Iterator[tuple[re.Pattern[bytes], str]]:
    """The patterns worth a try, by marks that are quick to look for. Assignments come first: they
    tell more of what a value is than its shape does."""
    if b"INDUCTORSCOPE_" in text:
        yield _OWN, OWN_SETTING
    if _ENVIRON_WORD.search(text):
        yield _ENVIRON, VARIABLE
    key = _KEY_WORD.search(text)
    if key or _LOWER_KEY in text:
        yield _NAMED, VARIABLE
    if key and b"PRIVATE KEY" in text:
        yield _KEY, PRIVATE_KEY
    if _AT_HOST.search(text):
        yield _URL, URL_PASSWORD
    for mark, kinds in _BY_SHAPE:
        if mark.search(text):
            for kind in kinds:
                yield _SHAPES[kind], kind


def _replacing(kind: str, found: Found) -> Callable[[re.Match[bytes]], bytes]:
    def replace(match: re.Match[bytes]) -> bytes:
        name = next(name for name, value in match.groupdict().items()
                    if value is not None and name != "name")  # fmt: skip
        value = match[name]
        words = _words_for(value)
        if _NO_SECRETS.fullmatch(value) or words == value:
            return match[0]
        found[kind] += 1
        start, end = match.start(name) - match.start(), match.end(name) - match.start()
        return match[0][:start] + words + match[0][end:]

    return replace


def _words_for(value: bytes) -> bytes:
    """As many lines as the value has."""
    lines = value.split(b"\n")
    middle = [REMOVED if line.strip() else line for line in lines]
    return b"\n".join(middle)
