"""What is stored as JSON changes only with its version, so that what older versions stored is made
anew instead of misread."""

import json
import zlib
from pathlib import Path

import msgspec
import pytest
from inductorscope.analyze.compile.model import STORY_VERSION, Story
from inductorscope.analyze.compile.phases import Chunk
from inductorscope.analyze.fusing.facts import VERSION, GraphFacts
from inductorscope.analyze.time.facts import ProfileFacts
from inductorscope.store.database.storable import json_text
from inductorscope.store.tables.models import StructColumn
from sqlalchemy.dialects import sqlite


@pytest.mark.parametrize(
    ("stored", "version", "known"),
    [
        ((Story, Chunk), STORY_VERSION, (5, 4048086074)),
        ((GraphFacts,), VERSION, (1, 2280516490)),
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


def test_facts_of_profiles_are_read_as_they_were_once_stored(fixtures: Path) -> None:
    """A field that is added needs a default; a form that no longer fits reads as nothing."""
    column, dialect = StructColumn(ProfileFacts), sqlite.dialect()
    stored = json.loads((fixtures / "profile-facts.json").read_bytes())
    read = column.process_result_value(stored, dialect)
    del stored["comparison"]["replaced"]  # no longer kept, as the following
    for name in ("lanes", "events", "work"):
        del stored["breakdown"][name]
    assert json.loads(json_text(read)) == stored
    stored["breakdown"]["timeline"]["busy_us"] = None  # what an infinite number became
    assert column.process_result_value(stored, dialect) == ProfileFacts()


def _without_words(schema: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in schema.items() if key != "description"}
