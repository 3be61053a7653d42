"""Links survive packing, and the packed form is the answer of the API."""

import json

from hypothesis import given
from hypothesis import strategies as st
from inductorscope.correlate.links.model import ENGINE, GraphLinks, StageLinks
from inductorscope.store.contents.packing import decompressed
from inductorscope.store.runs.links import pack_links, unpack_links

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
ROWS = st.lists(
    st.tuples(
        st.integers(1, 10**6), st.integers(0, 99), st.sampled_from([1, 2, 3]), st.integers(-1, 99)
    )
)


def columns(rows: list[tuple[int, int, int, int]]) -> StageLinks:
    rows = sorted(rows)
    lines, entities, known, calls = ([row[at] for row in rows] for at in range(4))
    return StageLinks(lines, entities, known, calls, "digest")


@given(entities=st.lists(NAMES), stages=st.dictionaries(NAMES, ROWS, max_size=4))
def test_round_trip(
    entities: list[str], stages: dict[str, list[tuple[int, int, int, int]]]
) -> None:
    links = GraphLinks(
        entities=entities,
        stages={name: columns(rows) for name, rows in stages.items()},
    )
    assert unpack_links(pack_links(links)) == links


def test_the_payload_is_the_answer() -> None:
    stage = StageLinks([3, 4], [0, 0], [3, 1], [-1, -1], "1f")
    payload = pack_links(GraphLinks(entities=["fx:neg"], stages={"code": stage}))
    assert json.loads(decompressed(payload)) == {
        "engine": ENGINE,
        "entities": ["fx:neg"],
        "stages": {
            "code": {
                "lines": [3, 4], "entities": [0, 0], "confidence": [3, 1], "call": [-1, -1],
                "digest": "1f",
            }
        },
    }  # fmt: skip


def test_hostile_names_are_made_fit() -> None:
    payload = pack_links(GraphLinks(entities=["src:/a\ud800b\0"], stages={}))
    assert json.loads(decompressed(payload))["entities"][0].startswith("src:/a\ufffd")
