"""Removes secrets from texts: tokens, passwords and private keys in a program's output.

Torch writes every variable whose name contains "INDUCTOR" into `fx_graph_runnable.py` and its log;
programs print addresses that contain passwords. `scrub` replaces each such value with words. It
takes linear time, and little for texts without secrets: it first searches for the marks of secrets,
with searches that skip to the next rare letter.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

from inductorscope.formats.sizes import MIB

REMOVED = b"<secret removed>"

OWN_SETTING = "setting of Inductorscope"
"""A published token of an installation of Inductorscope: the kind of secret that protects it."""
VARIABLE = "variable named as a secret"
URL_PASSWORD = "password in an address"  # noqa: S105  # the name of a kind
HUGGING_FACE, GITHUB, GITLAB = "Hugging Face token", "GitHub token", "GitLab token"
AWS, GOOGLE, SLACK, MODEL_API = "AWS key", "Google key", "Slack token", "key of a model's API"
PRIVATE_KEY = "private key"

PIECE = 4 * MIB
LONGEST_HELD = MIB
LONGEST_KEY = 32 * 1024

Removed = Counter[str]
"""Kind of secret → number removed."""

# An assigned value: quoted, quoted inside another quoted text (\"…\"), or bare. Torch writes ' and
# does not escape a " in the value; elsewhere a " may end the text around the '.
_VALUE = (
    rb"""(?:"(?P<double>(?:\\.|[^"\\\n]){1,4000})"""
    rb"""|'(?P<single>(?:\\.|[^'"\\\n]|"(?=[^'\n]{0,200}'[ \t]{0,9}(?:\n|\Z))){1,4000})"""
    rb"""|\\{1,7}["'](?P<inner>[^"'\\\n]{1,4000})|(?P<bare>[^\s"'\\,;&|<>(){}\[\]\0]{1,4000}))"""
)
_ASSIGNED = rb"""(?:\\{0,7}["'])?\]?[ \t]{0,4}[=:][ \t]{0,4}""" + _VALUE
_OWN = re.compile(
    rb"INDUCTORSCOPE_(?:TOKEN|DATABASE_URL|[A-Z_]{0,40}(?:SECRET|PASSWORD|_KEY))" + _ASSIGNED
)
# os.environ['SOME_INDUCTOR_TOKEN'] = 'value': torch does not escape the value, which extends to the
# line's end.
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

# Marks of secrets, each searched separately: a search for one or a few first letters skips to the
# next place with them; a search with alternatives does not.
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
"""Values that are not secrets, such as replacements."""


def scrub(text: bytes) -> tuple[bytes, Removed]:
    """Replaces each secret with words; returns the text and the number removed. The number and
    order of lines stay the same."""
    removed: Removed = Counter()
    for pattern, kind in list(_suspected(text)):
        text = pattern.sub(_replacing(kind, removed), text)
    return text, removed


def scrub_pieces(read: Callable[[int], bytes], removed: Removed) -> Iterator[bytes]:
    """Scrubs the bytes that `read` returns, piece by piece; adds what it removes to `removed`."""
    held = b""
    while block := read(PIECE):
        data = held + block
        end = _place_to_cut(data)
        clean, counts = scrub(data[:end])
        removed.update(counts)
        yield clean
        held = data[end:]
    clean, counts = scrub(held)
    removed.update(counts)
    yield clean


def _place_to_cut(data: bytes) -> int:
    """A position where a cut is unlikely to split a secret."""
    least = max(0, len(data) - LONGEST_HELD)
    ends = (data.rfind(mark, least) + len(mark) for mark in (b"\n", b"},", b",", b" "))
    end = next((end for end in ends if end > least + 2), len(data))
    key = data.rfind(b"-----BEGIN ", max(1, end - LONGEST_KEY), end)
    return end if key < 0 or data.find(b"-----END ", key, end) >= 0 else key


def _suspected(text: bytes) -> Iterator[tuple[re.Pattern[bytes], str]]:
    """Chooses the patterns to try, by marks that are quick to search. Assignments come first,
    because a name identifies a value better than its form."""
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


def _replacing(kind: str, removed: Removed) -> Callable[[re.Match[bytes]], bytes]:
    def replace(match: re.Match[bytes]) -> bytes:
        name = next(name for name, value in match.groupdict().items()
                    if value is not None and name != "name")  # fmt: skip
        value = match[name]
        words = _words_for(value)
        if _NO_SECRETS.fullmatch(value) or words == value:
            return match[0]
        removed[kind] += 1
        start, end = match.start(name) - match.start(), match.end(name) - match.start()
        return match[0][:start] + words + match[0][end:]

    return replace


def _words_for(value: bytes) -> bytes:
    """Returns the replacement, with as many lines as the value."""
    lines = value.split(b"\n")
    middle = [REMOVED if line.strip() else line for line in lines]
    return b"\n".join(middle)
