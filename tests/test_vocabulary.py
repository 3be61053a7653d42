"""One id for one idea: the vocabulary's names stand in its own files and nowhere else."""

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from inductorscope.analyze.compile.records import HANDLERS
from inductorscope.correlate.links.model import Confidence
from inductorscope.formats.log.kinds import ARTIFACTS, BY_NAME, ENDINGS, KINDS, Text
from inductorscope.formats.vocabulary import (
    CATEGORIES,
    CERTAINTIES,
    DIRECTIONS,
    HOST_WORK,
    HUES,
    ROLES,
    STAGE_BY_ID,
    STAGES,
    WORKS,
    Category,
    Certainty,
    Role,
    Stage,
    Work,
)

ROOT = Path(__file__).resolve().parent.parent
TOKENS = ROOT / "frontend" / "styles" / "tokens.css"
OWN = (
    "ingest/inductorscope/formats/vocabulary.py",
    "ingest/inductorscope/formats/log/kinds.py",
    # The handlers of kinds, by their names.
    "ingest/inductorscope/analyze/compile/records.py",
    # Revisions keep the names of their day.
    "ingest/inductorscope/store/migrations/versions/",
    # Written from the vocabulary.
    "frontend/src/shared/vocabulary.ts",
)

# Ordinary words name other things too: a "kernel" is also a page, "source" a place, "link" a tag.
# Ids with an underscore have one meaning only.
IDS = {entry.id for table in (STAGES, ROLES, CATEGORIES) for entry in table if "_" in entry.id} | {
    kind.name for kind in (*KINDS, *ARTIFACTS) if "_" in kind.name
}

# Where the same name is something else: a path, empty for everywhere, and what it is there.
THEIRS = {
    "torch_version": ("", "a column of runs"),
    "best_config": ("ingest/inductorscope/analyze/compile/", "a field of `triton_kernel_info`"),
    "output_code": ("ingest/inductorscope/formats/log/text_log.py", "a topic of TORCH_LOGS"),
}


@cache
def sources() -> dict[str, str]:
    folders = ("ingest", "server", "frontend/src", "frontend/templates", "frontend/styles")
    endings = {".py", ".ts", ".html", ".css"}
    files = (file for folder in folders for file in (ROOT / folder).rglob("*"))
    texts = {
        file.relative_to(ROOT).as_posix(): file.read_text()
        for file in sorted(files)
        if file.suffix in endings
    }
    return {path: text for path, text in texts.items() if not path.startswith(OWN)}


def literals(path: str, text: str) -> Iterator[str]:
    """Whole texts in quotes; in styles, names of classes."""
    if path.endswith(".py"):
        nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
        yield from (node.value for node in nodes if isinstance(node.value, str))
    elif path.endswith(".css"):
        yield from re.findall(r"[.\"'-](\w+)", text)
    else:
        yield from re.findall(r"[\"'`](\w+)[\"'`]", text)


def test_ids_stand_in_the_vocabulary_alone() -> None:
    assert len(IDS) > 100
    found = {
        (path, literal)
        for path, text in sources().items()
        for literal in literals(path, text)
        if literal in IDS and not (literal in THEIRS and path.startswith(THEIRS[literal][0]))
    }
    assert found == set()


def test_every_entry_is_complete() -> None:
    entries: list[Stage | Role | Category | Work | Certainty]
    entries = [*STAGES, *ROLES, *CATEGORIES, *WORKS, *CERTAINTIES]
    for entry in entries:
        assert re.fullmatch(r"[a-z][a-z_]*", entry.id), entry
        said = [getattr(entry, field.name) for field in fields(entry)]
        assert entry.title.strip() == entry.title != "", entry
        assert all(text == text.strip() for text in said if isinstance(text, str)), entry


def test_every_kind_of_record_says_what_it_is_and_where_it_shows() -> None:
    for kind in (*KINDS, *ARTIFACTS, *ENDINGS):
        assert kind.meaning, kind
        assert kind.shown, kind


def test_handlers_belong_to_kinds() -> None:
    of_caches = {name for name in HANDLERS if "_cache_" in name}  # torch makes up their names
    assert HANDLERS.keys() - of_caches <= BY_NAME.keys()


def test_a_text_of_a_graph_has_a_role_of_the_vocabulary() -> None:
    with pytest.raises(ValueError, match="'toy_stage' is neither a stage nor a role"):
        Text("toy_stage", "before code")


def test_every_stage_says_what_to_upload_when_it_is_missing() -> None:
    for stage in STAGES:
        assert stage.missing.endswith("."), stage.id
        assert stage.role in STAGE_BY_ID
        assert stage.made_from in ("", *STAGE_BY_ID)


def test_every_colour_of_charts_has_one_meaning_and_a_value_for_light_and_dark() -> None:
    values = dict(re.findall(r"--(\w+): (light-dark\([^;]+\));", TOKENS.read_text()))
    assert len({values[hue] for hue in HUES}) == len(HUES), "two hues look alike"
    used: set[str] = set()
    for table in (CATEGORIES, HOST_WORK, WORKS):
        hues = {entry.hue for entry in table} - {"edge"}
        assert hues <= set(HUES)
        assert not hues & used, "a hue has two meanings"
        used |= hues
    for table in ((*CATEGORIES, *HOST_WORK), WORKS):
        both = [re.findall("#[0-9a-f]{6}", values[hue]) for hue in {entry.hue for entry in table}]
        for colours in zip(*both, strict=True):  # of light pages, of dark ones
            apart = min(perceived(*pair) for pair in combinations(colours, 2))
            assert apart > 0.06, "two hues of one chart look alike"


def perceived(one: str, other: str) -> float:
    """How far apart two colours look, in Oklab."""

    def lab(colour: str) -> tuple[float, float, float]:
        red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
        red, green, blue = (
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
        )
        long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
        middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
        short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
        return (
            0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
        )

    return math.dist(lab(one), lab(other))


def test_ids_are_unique() -> None:
    roles = [stage.id for stage in STAGES] + [role.id for role in ROLES]
    for ids in (roles, [category.id for category in CATEGORIES]):
        assert len(ids) == len(set(ids))
    assert len(set(DIRECTIONS)) == len(DIRECTIONS)


def test_links_know_the_same_certainties() -> None:
    assert {certainty.level: certainty.id for certainty in CERTAINTIES} == {
        level.value: level.name for level in Confidence
    }
