"""What is stored as JSON changes only with its version, so that what older versions stored is made
anew instead of misread."""

from __future__ import annotations

import json
import zlib

import msgspec
import pytest
from inductorscope.analyze.compile.model import STORY_VERSION, Story
from inductorscope.analyze.compile.phases import Chunk
from inductorscope.analyze.fusing.facts import VERSION, GraphFacts


@pytest.mark.parametrize(
    ("stored", "version", "known"),
    [
        ((Story, Chunk), STORY_VERSION, (3, 1789263438)),
        ((GraphFacts,), VERSION, (1, 3696202642)),
    ],
    ids=["story", "facts of a graph"],
)
def test_a_stored_form_changes_with_its_version(
    stored: tuple[type, ...], version: int, known: tuple[int, int]
) -> None:
    """Where this fails, raise the version if stored values could be misread, and note both here."""
    schemas = msgspec.json.encode(msgspec.json.schema_components(stored), order="sorted")
    form = json.dumps(json.loads(schemas, object_hook=_without_words))
    assert (version, zlib.crc32(form.encode())) == known


def _without_words(schema: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in schema.items() if key != "description"}
