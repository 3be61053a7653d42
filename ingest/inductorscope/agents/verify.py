"""Checks whether the numbers of a sentence agree with the run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Annotated

import msgspec
import pydantic
from sqlalchemy.orm import Session

from inductorscope import urls
from inductorscope.agents.tools import OfRun, run_named
from inductorscope.answers.compile.story import compile_page
from inductorscope.answers.explorer.line import line_page
from inductorscope.answers.markdown.shown import kernel_named
from inductorscope.answers.markdown.structs import Field, Value, fields_of
from inductorscope.answers.missing import NotHere
from inductorscope.answers.runs.run import run_page
from inductorscope.answers.time.roofline import roofline_page
from inductorscope.answers.time.time import time_page
from inductorscope.markdown.figures import label, with_unit
from inductorscope.markdown.text import code, escaped, link

UNITS: dict[str, tuple[str, float]] = {
    "": ("count", 1),
    **dict.fromkeys(("%", "percent"), ("share", 1)),
    **dict.fromkeys(("×", "x"), ("ratio", 1)),
    "ns": ("time", 1e-3),
    **dict.fromkeys(("µs", "us"), ("time", 1)),
    "ms": ("time", 1e3),
    **dict.fromkeys(("s", "second", "seconds"), ("time", 1e6)),
    "min": ("time", 60e6),
    **{f"{prefix}B": ("size", 1000**power) for power, prefix in enumerate(("", "k", "M", "G"))},
    **{f"{prefix}iB": ("size", 1024**power) for power, prefix in enumerate("KMGT", 1)},
    **{f"{prefix}B/s": ("rate", 1000**power) for power, prefix in enumerate(" kMGT")},
    **{f"{prefix}FLOP/s": ("work", 1000**power) for power, prefix in enumerate(" kMGT")},
}
"""Unit → the kind of quantity, and the size of the unit in its base unit."""
_UNIT = "|".join(sorted(map(re.escape, filter(None, UNITS)), key=len, reverse=True))
_QUANTITY = re.compile(
    rf"(?<![\w.:])([-+−]?\d+(?:,\d{{3}})*(?:\.\d+)?)[ \u202f]?({_UNIT})?(?![\w/]|\.\d)"
)
_WORDS = re.compile(r"[a-z_][\w.:/]+\w")
_NAMED = re.compile(r"(?<![\w./])(?:[\w/]*+\.)++\w++:\d+|(?<!\w)(?:triton|cpp|extern)_[\w.]*\w")
"""Matches names of lines and kernels."""
COUNTED = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
NUMBERS = {word: str(number) for number, word in enumerate(COUNTED)}
_NUMBERS = re.compile(rf"\b({'|'.join(NUMBERS)})\b(?= \w+)", re.IGNORECASE)
_CLAUSES = re.compile(r"[,;] |\. |\b(?:and|but|versus|vs|while|with)\b")
STOP_WORDS = frozenset(
    ("are", "for", "has", "its", "per", "run", "takes", "take", "the", "this", "was")
)
STEM = 6
"""Number of letters by which words are compared."""
NAME = re.compile(r"\A[^_.:/]*[_.:/]")
"""Matches a word that names one thing, such as a kernel or a line."""
SYNONYMS = {
    "faster": "speed",
    "slower": "speed",
    "speedup": "speed",
    "move": "byte",
    "moved": "byte",
}
"""Words of a sentence → words in the names of figures."""
SCORE_TOLERANCE = 1.0
"""How much worse than the best figure an agreeing one may fit the sentence."""
NAMING = ("graph", "kernel", "name", "function", "category", "path", "line")
"""Fields that name the subject of a struct."""
MOST = 4
"""Most figures of the run that are listed under a wrong one."""


class Quantity(msgspec.Struct, frozen=True):
    """A number with its unit, as written."""

    text: str
    kind: str
    value: float
    half: float
    """Half of its last digit."""

    def agrees(self, other: Quantity) -> bool:
        near = abs(self.value - other.value) <= 1.001 * max(self.half, other.half)
        return self.kind == other.kind and near


class Fact(msgspec.Struct, frozen=True):
    """A figure of the run, and what it is a figure of."""

    of: str
    quantity: Quantity


def quantities(text: str) -> Iterator[Quantity]:
    """Yields the numbers of a sentence; numbers inside names do not count."""
    for match in _QUANTITY.finditer(text):
        number, unit = match[1].replace(",", "").replace("−", "-"), match[2] or ""
        kind, size = UNITS[unit]
        decimals = len(number.partition(".")[2])
        half = 0.0 if not unit and not decimals else 0.5 * 10**-decimals * size
        yield Quantity(match[0].strip(), kind, abs(float(number)) * size, half)


def verify(
    session: Session,
    run: OfRun,
    *,
    base: str,
    sentence: Annotated[
        str, pydantic.Field(description="A sentence with figures.", max_length=2000)
    ],
) -> str:
    """Checks whether the numbers of a sentence agree with the run, and says what the run has
    instead."""
    run = run_named(session, run)
    written = _NUMBERS.sub(lambda word: NUMBERS[word[0].lower()], sentence)
    pages = (answer(session, run) for answer in (run_page, time_page, compile_page, roofline_page))
    facts = [fact for page in pages for fact in _facts_of_page(page)]
    facts += _facts_of_names(session, run, sentence)
    lines = [f"# {link('Verified', base + urls.run(run))}: {code(sentence)}", ""]
    for clause in _CLAUSES.split(written):
        for quantity in quantities(clause):
            lines += _judged(quantity, facts, _words(clause), _words(written))
    if len(lines) == 2:
        lines.append("The sentence contains no number, so there is nothing to compare.")
    return "\n".join(lines) + "\n"


def _judged(
    quantity: Quantity, facts: list[Fact], near: frozenset[str], words: frozenset[str]
) -> Iterator[str]:
    """Yields the verdict on a number. `near`: the words of its clause."""
    same = [fact for fact in facts if fact.quantity.kind == quantity.kind]
    scores = {fact: _score(fact, near, words) for fact in same}
    ranked = sorted(scores, key=lambda fact: -scores[fact])
    agreeing = [fact for fact in ranked if fact.quantity.agrees(quantity)]
    best = scores[ranked[0]] if ranked else 0.0
    fits = scores[agreeing[0]] if agreeing else 0.0
    if best <= 0:
        yield f"- {escaped(quantity.text)}: **unknown**, no figure of the run is named like this."
    elif fits >= best - SCORE_TOLERANCE:
        yield f"- {escaped(quantity.text)}: **confirmed**, {_said(agreeing[0])}."
    else:
        likely = fits >= best / 2
        verdict = "**likely**, if this is meant" if likely else "**not confirmed**; the run says"
        yield f"- {escaped(quantity.text)}: {verdict}:"
        yield from (f"  - {_said(fact)}" for fact in (agreeing[:1] if likely else ranked[:MOST]))


def _said(fact: Fact) -> str:
    return f"{code(fact.of)} = {escaped(fact.quantity.text)}"


def _score(fact: Fact, near: frozenset[str], words: frozenset[str]) -> float:
    """Scores how well a figure's name fits the words: words of the number's clause count most,
    names of one thing decide, and words that the sentence lacks count against it."""
    of = _words(fact.of)
    names = sum(bool(NAME.match(word)) for word in of & words)
    return 3 * len(of & near) + len(of & words) + 10 * names - 0.5 * len(of - words)


def _words(text: str) -> frozenset[str]:
    """Returns names as they are, and the beginnings of other words: `compiling` means `compile`."""
    found = (
        SYNONYMS.get(word, word) for word in _WORDS.findall(text.lower()) if word not in STOP_WORDS
    )
    return frozenset(word if NAME.match(word) else word.rstrip("s")[:STEM] for word in found)


def _facts_of_names(session: Session, run: str, sentence: str) -> Iterator[Fact]:
    """Yields figures of the lines and kernels that a sentence names."""
    for word in dict.fromkeys(_NAMED.findall(sentence)):
        with suppress(NotHere):
            page = line_page if ":" in word else kernel_named
            yield from _facts_of_page(page(session, run, word), word)


def _facts_of_page(page: Value, of: str = "") -> Iterator[Fact]:
    for field, value in fields_of(page):
        yield from _facts(field, value, of)


def _facts(field: Field, value: Value, of: str, unit: str = "") -> Iterator[Fact]:
    """Yields every figure in an answer, with the names of what it is a figure of."""
    here = f"{of} {label(field.name)}".strip()
    if isinstance(value, msgspec.Struct):
        names = (getattr(value, name, None) for name in NAMING)
        words = (of, *(str(name) for name in names if isinstance(name, str | int)))
        own = " ".join(filter(None, words))
        for own_field, part in fields_of(value):
            yield from _facts(own_field, part, own, getattr(value, "unit", None) or unit)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _facts(field._replace(name=str(key)), part, here)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _facts(field, part, of, unit)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        for quantity in quantities(with_unit(field.name, value, field.unit(unit))):
            yield Fact(here, quantity)
