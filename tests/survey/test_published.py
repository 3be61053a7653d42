"""A run beside a survey, the feed of a survey's events and the badges of its programs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from inductorscope import urls
from inductorscope.answers.missing import NotHere
from inductorscope.cli.local import read_paths
from inductorscope.progress import silent
from inductorscope.settings import Settings
from inductorscope.store.database.engine import engine_of, sessions
from inductorscope.store.tables.surveys import SurveyCell
from inductorscope.survey.beside import beside_page
from inductorscope.survey.changes import VERSION, Change
from inductorscope.survey.events import badge, events_of, feed
from inductorscope.survey.page import atlas_page
from inductorscope_server.web.app import create_app
from starlette.testclient import TestClient

ATOM = "{http://www.w3.org/2005/Atom}"
NOW = datetime(2026, 11, 1, tzinfo=UTC)
HOSTILE = 'a<b & "c"\x0b\ufffe]]>'


def cell(program: str, torch: str, run: str, **more: Any) -> SurveyCell:
    given: dict[str, Any] = {"counts": {"kernels": 1}, "changes": [], "failure": None} | more
    before = given.pop("was", None)
    return SurveyCell(
        key=f"{program}{torch}"[:32], survey="s", program=program, python=torch, torch=torch,
        device="cpu", mode="default", run_id=run, seconds=1, made={"device": "cpu"}, details={},
        created_at=NOW + timedelta(days=int(torch[2:])),
        before=before and f"{before}:{VERSION}", **given,
    )  # fmt: skip


def gelu(lines: list[str]) -> list[Any]:
    change = Change("operations", {"gelu": 1, "neg": -1}, 0, lines)
    return [msgspec.to_builtins(change)]


def survey(program: str = "p") -> list[SurveyCell]:
    return [
        cell(program, "2.12", "1" * 16),
        cell(program, "2.13", "2" * 16, was="1" * 16, changes=gelu(["m.py:3"])),
        cell(program, "2.14", "3" * 16, was="2" * 16, counts={"kernels": 2}, changes=gelu([])),
    ]


def test_the_feed_is_atom_with_ids_that_stay() -> None:
    cells = survey()
    root = ElementTree.fromstring(feed("s", events_of(cells), "https://here.example"))
    entries = root.findall(f"{ATOM}entry")
    assert [entry.findtext(f"{ATOM}updated") for entry in entries] == [
        "2026-11-15T00:00:00+00:00", "2026-11-14T00:00:00+00:00",
    ]  # fmt: skip
    assert root.findtext(f"{ATOM}updated") == "2026-11-15T00:00:00+00:00"
    assert root.findtext(f"{ATOM}author/{ATOM}name")
    ids = [entry.findtext(f"{ATOM}id", "") for entry in entries]
    assert len({*ids, root.findtext(f"{ATOM}id")}) == 3
    link = entries[0].find(f"{ATOM}link")
    assert link is not None
    at = ids[0].removeprefix("urn:uuid:")
    assert link.attrib["href"] == f"https://here.example/atlas?name=s#{at}"
    assert entries[1].findtext(f"{ATOM}content") == "p, cpu, default: m.py:3"
    # Another program with the same change, other bytes and a later compile: the same event.
    more = [*cells, *survey("q")]
    more[-1].counts, more[-1].created_at = {"kernels": 9}, NOW + timedelta(days=99)
    again = ElementTree.fromstring(feed("s", events_of(more), ""))
    assert [entry.findtext(f"{ATOM}id") for entry in again.findall(f"{ATOM}entry")] == ids


def test_no_events_are_a_feed_too() -> None:
    assert ElementTree.fromstring(feed("s", [], "")).findall(f"{ATOM}entry") == []


def test_names_are_escaped() -> None:
    cells = survey(HOSTILE)
    ElementTree.fromstring(feed(HOSTILE, events_of(cells), "http://h"))

    def says(cells: list[SurveyCell]) -> str:
        return "".join(ElementTree.fromstring(badge(cells, HOSTILE)).itertext())

    assert says([*cells, cell(HOSTILE, "2.15", "", failure="why")]).startswith("torch 2.15: failed")
    cells[-1].python = HOSTILE
    assert 'a<b & "c"\ufffd\ufffd]]>' in says(cells)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (survey()[:1], "torch 2.12: 1 kernel"),
        (survey()[:2], "torch 2.13: 1 kernel, changed since 2.12"),
        (survey(), "torch 2.14: 2 kernels, +1 since 2.13"),
        ([*survey()[:2], cell("p", "2.15", "4" * 16)], "torch 2.15: 1 kernel"),
        (
            [*survey()[:2], cell("p", "2.14", "3" * 16, was="2" * 16),
             cell("p", "2.15", "4" * 16, was="3" * 16)],
            "torch 2.15: 1 kernel, no change since 2.13",
        ),
    ],
)  # fmt: skip
def test_a_badge_says_what_changed(cells: list[SurveyCell], says: str) -> None:
    svg = ElementTree.fromstring(badge(cells, "p", "cpu"))
    assert svg.findtext("{http://www.w3.org/2000/svg}title") == says
    with pytest.raises(NotHere, match="no program p on cuda"):
        badge(cells, "p", "cuda")


def test_a_run_is_placed_beside_the_nearest(settings: Settings, fixtures: Path) -> None:
    given: dict[str, Any] = {"tags": [], "origin": "ingest", "progress": silent}
    own, near, far = (
        read_paths(settings, [fixtures / name], name=name, **given).run_id
        for name in ("cuda-foo1", "neg-does-not-compile", "cpu-ops-zoo")
    )
    with engine_of(settings) as engine, sessions(engine)() as session:
        assert beside_page(session, own).near == []
        session.add_all(
            [
                cell("far", "2.12", far),
                cell("near", "2.12", near, was=None),
                cell("near", "2.13", near, was=near, changes=gelu([])),
                cell("failed", "2.13", far, failure="why"),
            ]
        )
        session.commit()
        page = beside_page(session, own, "s")
        assert [(found.program, found.torch) for found in page.near] == [
            ("near", "2.13"), ("far", "2.12"),
        ]  # fmt: skip
        alike, other = page.near
        assert (alike.share, alike.both, other.both) == (1, ["maximum", "neg"], ["neg"])
        assert other.share == 1 / 45
        assert page.figures["launches of generated kernels"] == ["1", "1", "1"]
        assert "bytes moved" not in page.figures, "not known of all"
        (touching,) = page.touching
        assert touching.operations == ["neg"]
        assert touching.href == f"/atlas?name=s#{atlas_page(session, 's').events[0].id}"
        assert [row.program for row in beside_page(session, far).near] == ["near"]
        assert {run.id for run in atlas_page(session, "s").offered} == {own}
        with pytest.raises(NotHere, match="no survey none"):
            beside_page(session, own, "none")


def test_addresses_of_what_is_published(settings: Settings) -> None:
    app = create_app(settings, alone=True)
    with TestClient(app, base_url="http://127.0.0.1:8765") as client:
        assert client.get(urls.atlas(".atom")).status_code == 200
        for part in (urls.atlas(".atom", name="none"), urls.atlas("/badge.svg", program="none")):
            assert client.get(part).status_code == 404
        sent = client.get(urls.atlas(".atom")).headers
        assert sent["content-type"] == "application/atom+xml; charset=utf-8"
        assert sent["cache-control"] == "private, no-cache"
