"""Hostile texts: pieces of real files, damaged in ways that are described by a few numbers, so that
Hypothesis can shrink them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st

LARGEST = 24_000
"""Bytes of a case at most."""

TOKENS = [
    b"\t", b"\n\t", b"\0", b"\r", b"\r\n", b"\n\n", b"\x0b", b"\x0c", b"\x1c", b"\x85",
    "\u2028".encode(), "\u2029".encode(), "\x85".encode(), "\ufeff".encode(), "é𝄞".encode(),
    b"\xff\xfe", b"\xed\xa0\x80", b"\xf0\x9f", b'"', b"'", b"'''", b'"""', b"\\", b"\\u",
    b"\\ud800", b"(", b")", b"[", b"]", b"{", b"}", b"<", b">", b",", b":", b";", b"=", b"#",
    b" ", b"    ", b"NaN", b"-Infinity", b"1e999", b"-0", b"9" * 25, b"null", b"true", b"{}",
    b"[]", b'{"a":', b"# File: ", b"# Topologically Sorted Source Nodes: [", b"class G(M):\n",
    b"def forward(self):\n", b"    def body(self, ops):\n",
    b"op0: SchedulerNode(ComputedBuffer)\n", b"op0.snodes[0] =\n",
    b"async_compile.triton('k', '''\n", b"async_compile.cpp_pybinding(['float*'], r'''\n",
    b"''')\n", b"    k.run(", b"return (", b"tl.load(", b"tmp0 = ", b'"ph": "X"',
    b'"traceEvents": [',
    b'V1121 01:25:55.678000 419 torch/a.py:1] {"artifact": {"name": "x"}, "has_payload": "0"}\n',
    b'"has_payload": "d41d8cd98f00b204e9800998ecf8427e"', b"----  ----\n", b"Total 1 2%\n",
    b"  == unknown category kernels == \n", b" 0.014ms \t0.005 GB \t 345.56GB/s",
]  # fmt: skip
"""What means something to a reader, and what no editor shows."""

Numbers = tuple[int, int, int]
"""Two places, and a choice; each is taken modulo what it chooses from."""


def _place(data: bytes, number: int) -> int:
    return number % (len(data) + 1)


def _cut(data: bytes, a: int, b: int, c: int) -> bytes:
    return data[: _place(data, a)]


def _behead(data: bytes, a: int, b: int, c: int) -> bytes:
    return data[_place(data, a) :]


def _delete(data: bytes, a: int, b: int, c: int) -> bytes:
    at = _place(data, a)
    return data[:at] + data[at + b % 80 :]


def _insert(data: bytes, a: int, b: int, c: int) -> bytes:
    at = _place(data, a)
    return data[:at] + TOKENS[c % len(TOKENS)] + data[at:]


def _run(data: bytes, a: int, b: int, c: int) -> bytes:
    """Many of one token: deep brackets, endless spaces, a giant line."""
    at = _place(data, a)
    return data[:at] + TOKENS[c % len(TOKENS)] * (b % 1500) + data[at:]


def _set(data: bytes, a: int, b: int, c: int) -> bytes:
    at = _place(data, a)
    return data[:at] + bytes([c % 256]) + data[at + 1 :]


def _swap_bytes(data: bytes, a: int, b: int, c: int) -> bytes:
    first, second = sorted((_place(data, a), _place(data, b)))
    size = 1 + c % 40
    if first + size > second:
        return data
    return (
        data[:first] + data[second : second + size] + data[first + size : second]
        + data[first : first + size] + data[second + size :]
    )  # fmt: skip


def _repeat(data: bytes, a: int, b: int, c: int) -> bytes:
    at = _place(data, a)
    return data[:at] + data[at : at + b % 400] * (2 + c % 20) + data[at:]


def _lines(change: Callable[[list[bytes], int, int, int], None]) -> Mutation:
    def mutation(data: bytes, a: int, b: int, c: int) -> bytes:
        lines = data.split(b"\n")
        change(lines, a % len(lines), b % len(lines), c)
        return b"\n".join(lines)

    return mutation


def _delete_lines(lines: list[bytes], a: int, b: int, c: int) -> None:
    del lines[a : a + 1 + c % 8]


def _copy_line(lines: list[bytes], a: int, b: int, c: int) -> None:
    lines[a:a] = [lines[b]] * (1 + c % 30)


def _swap_lines(lines: list[bytes], a: int, b: int, c: int) -> None:
    lines[a], lines[b] = lines[b], lines[a]


def _cut_line(lines: list[bytes], a: int, b: int, c: int) -> None:
    lines[a] = lines[a][: _place(lines[a], c)]


def _join_lines(lines: list[bytes], a: int, b: int, c: int) -> None:
    lines[a : a + 2 + c % 8] = [b" ".join(lines[a : a + 2 + c % 8])]


def _indent_line(lines: list[bytes], a: int, b: int, c: int) -> None:
    lines[a] = b" " * (c % 12) + lines[a].lstrip(b" " if c % 2 else b"")


Mutation = Callable[[bytes, int, int, int], bytes]
MUTATIONS: list[Mutation] = [
    _cut, _behead, _delete, _insert, _insert, _run, _set, _swap_bytes, _repeat,
    *map(_lines, (_delete_lines, _copy_line, _swap_lines, _cut_line, _join_lines, _indent_line)),
]  # fmt: skip


def _window(seed: bytes, a: int, b: int) -> bytes:
    """Some lines of a file, or some bytes where lines are long."""
    lines = seed.split(b"\n")
    first = a % len(lines)
    window = b"\n".join(lines[first : first + 2 + b % 90])
    if len(window) > 9000:
        start = b % len(window)
        return window[start : start + 3000]
    return window


def mutated(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Pieces of these files, spliced and damaged."""
    number = st.integers(0, 2**20)
    numbers = st.tuples(number, number, number)
    piece = st.builds(_window, st.sampled_from(seeds), number, number)
    whole = st.sampled_from([seed for seed in seeds if len(seed) < 9000] or [b""])
    texts = st.lists(st.one_of(piece, piece, whole), min_size=1, max_size=3).map(b"".join)
    changes = st.lists(st.tuples(st.sampled_from(MUTATIONS), numbers), max_size=8)
    return st.builds(_changed, texts, changes)


def _changed(text: bytes, changes: list[tuple[Mutation, Numbers]]) -> bytes:
    for mutation, numbers in changes:
        text = mutation(text, *numbers)[:LARGEST]
    return text[:LARGEST]


def hostile(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Mostly damaged files; also tokens in any order, any text, any bytes."""
    damaged = mutated(seeds)
    tokens = st.lists(st.sampled_from(TOKENS), max_size=60).map(b"".join)
    texts = st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.one_of(damaged, damaged, damaged, damaged, tokens, texts, st.binary(max_size=400))
