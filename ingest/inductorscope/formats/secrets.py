"""Removes secrets from texts: tokens, passwords and private keys in a program's output.

Torch writes every variable whose name contains "INDUCTOR" into `fx_graph_runnable.py` and its log;
programs print addresses that contain passwords. `scrub` replaces each value that `secret_rules`
knows with words. It takes linear time.
"""

import io
import re
import tokenize
from collections import Counter, deque
from collections.abc import Callable, Iterator

from inductorscope.formats.secret_rules import Span, find_secrets
from inductorscope.formats.sizes import MIB

REMOVED = b"<secret removed>"

PIECE = 4 * MIB
LONGEST_HELD = MIB
LONGEST_KEY = 32 * 1024
LONGEST_PROGRAM = MIB
_QUOTES = re.compile(r"""[A-Za-z]{0,3}("{3}|'{3}|"|')""")

Removed = Counter[str]
"""Kind of secret → number removed."""


def scrub(text: bytes) -> tuple[bytes, Removed]:
    """Replaces each secret with words; returns the text and the number removed. The number and
    order of lines stay the same."""
    return _without(text, find_secrets(text))


def _without(text: bytes, secrets: list[Span]) -> tuple[bytes, Removed]:
    removed: Removed = Counter()
    pieces, at = [], 0
    for start, end, kind in secrets:
        words = _words_for(text[start:end])
        if words != text[start:end]:
            removed[kind] += 1
            pieces += [text[at:start], words]
            at = end
    return (b"".join([*pieces, text[at:]]) if removed else text), removed


def scrub_python(source: bytes) -> tuple[bytes, Removed]:
    """Scrubs a program that is to run as before: only strings and comments hold secrets, so that
    after a name such as `--max-tokens`, `type=int` stays. Scrubs what is no Python as a text."""
    spans = deque(find_secrets(source))
    if not spans:
        return scrub(source)
    held: list[Span] = []
    try:
        for first, last in _strings_and_comments(source):
            while spans and spans[0][1] <= first:
                spans.popleft()
            for start, end, kind in spans:
                if start >= last:
                    break
                held.append((max(start, first), min(end, last), kind))
    except (tokenize.TokenError, SyntaxError):
        return scrub(source)
    return _without(source, held)


def _strings_and_comments(source: bytes) -> Iterator[tuple[int, int]]:
    """Yields where a program's comments and the contents of its strings are. Raises TokenError,
    SyntaxError."""
    starts = [0, 0, *(end.end() for end in re.finditer(b"\n", source))]  # of lines, from 1
    text = io.StringIO(source.decode("latin-1"), newline="\n")  # a character a byte
    for token in tokenize.generate_tokens(text.readline):
        if tokenize.tok_name[token.type] in ("STRING", "COMMENT", "FSTRING_MIDDLE"):
            quotes = _QUOTES.match(token.string) if token.type == tokenize.STRING else None
            first, last = (starts[row] + column for row, column in (token.start, token.end))
            yield (first + quotes.end(), last - len(quotes[1])) if quotes else (first, last)


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


def _words_for(value: bytes) -> bytes:
    """Returns the replacement, with as many lines as the value."""
    lines = value.split(b"\n")
    middle = [REMOVED if line.strip() else line for line in lines]
    return b"\n".join(middle)
