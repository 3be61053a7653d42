"""Events: the same change in many programs, from one version of torch to the next; how they are
published."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

import msgspec

from inductorscope import urls
from inductorscope.answers.missing import NotHere
from inductorscope.contract.lock import BY_ID
from inductorscope.fields import Bytes, Hidden, Microseconds, Prose
from inductorscope.markdown.text import link, prose
from inductorscope.store.tables.surveys import SurveyCell
from inductorscope.survey.cells import is_compared, neighbours, rows_of
from inductorscope.survey.changes import (
    APART,
    CODES,
    FIGURES,
    KERNELS,
    OPERATIONS,
    TOGETHER,
    Change,
    family,
)
from inductorscope.units import plural, size_in_bytes

NAMED = 6
"""Most things and lines that a sentence names."""
ALIKE = 0.5
"""Share of operations that two changes have in common if they are one event."""
CHARACTER = 7
"""Pixels of a badge's character."""
_NOT_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TITLES = {
    APART: "no longer in one kernel",
    TOGETHER: "newly in one kernel",
    KERNELS: "another number of kernels with these operations",
    OPERATIONS: "other operations in the graphs",
    CODES: "other code for the same operations",
}


class AtlasPlace(msgspec.Struct, frozen=True):
    """A program in which the change is."""

    program: str
    device: str
    mode: str
    more: int
    """Kernels more, or what the event counts."""
    nbytes: Bytes
    lines: list[str]
    href: str
    """Both runs side by side."""


class AtlasEvent(msgspec.Struct, frozen=True):
    """The same change in one or more programs."""

    text: Prose
    before: str
    """The torch before."""
    after: str
    programs: int
    of: int
    """Programs that both versions compiled."""
    found: list[str]
    """What there is more (+) or fewer (-) of, the most frequent first."""
    also: list[Prose]
    """What changed with it, on the same lines."""
    nbytes: Bytes
    """Bytes more in all places together."""
    predicted_us: Microseconds | None
    """Predicted time more in the programs on a GPU."""
    places: list[AtlasPlace]
    kind: Hidden[str]
    id: Hidden[str]
    """Stays the same as long as the event names the same things."""
    at: Hidden[datetime]
    """When the last of its cells was compiled."""


Found = tuple[SurveyCell, SurveyCell, Change]


def events_of(cells: Iterable[SurveyCell], program: str = "") -> list[AtlasEvent]:
    """Returns the events, those of the newest torch first, and of these the one with the most
    bytes; `program`: only those of one program."""
    of: dict[tuple[str, str], set[str]] = defaultdict(set)
    found: dict[tuple[str, str], list[Found]] = defaultdict(list)
    order: dict[tuple[str, str], int] = {}
    for row in rows_of(cells).values():
        for at, (before, after) in enumerate(neighbours(row)):
            if is_compared(before, after):
                versions = before.python, after.python
                order[versions] = max(at, order.get(versions, 0))
                of[versions].add(after.program)
                changes = msgspec.convert(after.changes, list[Change])
                found[versions] += [(before, after, change) for change in changes]
    events = []
    for versions in sorted(order, key=lambda pair: -order[pair]):
        own = [_event(together, len(of[versions])) for together in _together(found[versions])]
        own.sort(key=lambda event: (-abs(event.nbytes), -abs(event.predicted_us or 0),
                                    -event.programs, event.text))  # fmt: skip
        events += own
    return [seen for seen in events if not program or program in {at.program for at in seen.places}]


def _kind(change: Change) -> tuple[str, str]:
    """Returns what a change is: only changes of the same kind can be one event."""
    if change.kind in (APART, TOGETHER):
        families: Counter[str] = Counter()
        for pair, times in change.whats.items():
            families[family(pair)] += times
        return change.kind, max(sorted(families), key=lambda name: families[name])
    return change.kind, ""


def _together(found: Sequence[Found]) -> list[list[Found]]:
    """Groups changes: those of fusion by the kind of operations; those of operations by how alike
    they are; others by what most programs have in common, then by what most of the rest have."""
    kinds: dict[tuple[str, str], list[Found]] = defaultdict(list)
    for change in found:
        kinds[_kind(change[2])].append(change)
    groups = []
    for (kind, _), own in kinds.items():
        rest = [(row, {(what, more > 0) for what, more in row[2].whats.items()}) for row in own]
        while rest:
            is_in: Callable[[set[tuple[str, bool]]], bool] = bool
            if kind == OPERATIONS:
                seed = max(
                    (whats for _, whats in rest),
                    key=lambda mine: (sum(mine == whats for _, whats in rest), sorted(mine)),
                )
                is_in = partial(_alike, seed)
            elif kind not in (APART, TOGETHER):
                programs: dict[tuple[str, bool], list[str]] = defaultdict(list)
                for (_, after, _), whats in rest:
                    for what in whats:
                        programs[what].append(after.program)
                best = max(
                    sorted(programs),
                    key=lambda pair: (len(set(programs[pair])), len(programs[pair])),
                )
                is_in = {best}.issubset
            group = [(change, whats) for change, whats in rest if is_in(whats)]
            rest = [(change, whats) for change, whats in rest if not is_in(whats)]
            if kind == CODES:  # what not all of them have is another event
                common = set.intersection(*(whats for _, whats in group))
                rest += [(change, more) for change, whats in group if (more := whats - common)]
                group = [(_only(change, common), common) for change, _ in group]
            groups.append([change for change, _ in group])
    return groups


def _only(found: Found, whats: set[tuple[str, bool]]) -> Found:
    before, after, change = found
    own = {what: more for what, more in change.whats.items() if (what, more > 0) in whats}
    return before, after, msgspec.structs.replace(change, whats=own)


def _alike(one: set[tuple[str, bool]], other: set[tuple[str, bool]]) -> bool:
    return len(one & other) >= ALIKE * len(one | other)


def _event(found: Sequence[Found], of: int) -> AtlasEvent:
    before, after, first = found[0]
    whats: Counter[tuple[str, bool]] = Counter()
    cells: dict[str, list[Found]] = defaultdict(list)
    for change in found:
        cells[change[1].key].append(change)
        for what, more in change[2].whats.items():
            whats[what, more > 0] += 1
    places = [_place(cell) for cell in cells.values()]
    places.sort(key=lambda place: (-abs(place.nbytes), place.program, place.device, place.mode))
    programs = len({place.program for place in places})
    sign = first.kind not in (APART, TOGETHER)
    shown = [
        f"{('+' if up else '−') if sign else ''}{what}"  # a minus sign
        for (what, up), _ in sorted(whats.items(), key=lambda pair: (-pair[1], pair[0]))
        if what
    ]  # fmt: skip
    predicted = [
        (changes[0][1].counts["predicted_ns"] - changes[0][0].counts["predicted_ns"]) / 1000
        for changes in cells.values()
        if all("predicted_ns" in cell.counts for cell in changes[0][:2])
    ]
    title = TITLES.get(first.kind) or BY_ID[first.kind].title
    if first.kind in (APART, TOGETHER):
        title = f"{title}: {_kind(first)[1]}"
    named = [] if first.kind in (APART, TOGETHER) else sorted(shown)
    own = repr((after.survey, before.python, after.python, title, named))
    return AtlasEvent(
        _text(title, first.kind, shown, sum(place.more for place in places), programs, of, after),
        before.python, after.python, programs, of, found=shown, also=_also(found),
        nbytes=sum(place.nbytes for place in places),
        predicted_us=sum(predicted) if predicted else None, places=places, kind=first.kind,
        id=str(uuid5(NAMESPACE_URL, own)), at=max(cell.created_at for _, cell, _ in found),
    )  # fmt: skip


def _also(found: Sequence[Found]) -> list[str]:
    """Formats what changed with an event, what is in most places first."""
    more: Counter[str] = Counter()
    places: Counter[str] = Counter()
    for _, _, change in found:
        for key, value in change.also.items():
            more[key] += value
            places[key] += 1
    texts = []
    for key, _ in sorted(places.items(), key=lambda pair: (-pair[1], pair[0])):
        kind, _, what = key.partition(" ")
        title = "kernels with other code" if kind == CODES else BY_ID[kind].title
        if more[key]:
            texts.append(f"{title}{f', `{what}`' if what else ''}: {more[key]:+,}")
    return texts


def _text(
    title: str, kind: str, shown: Sequence[str], more: int, programs: int, of: int,
    after: SurveyCell,
) -> str:  # fmt: skip
    named = ", ".join(f"`{what}`" for what in shown[:NAMED])
    if len(shown) > NAMED:
        named += f" and {len(shown) - NAMED} more"
    if kind in FIGURES:
        unit, size = BY_ID[kind].unit, abs(more)
        amount = size_in_bytes(size) if unit == "bytes" else f"{size:,} {unit}"
        named = (
            f"{amount.strip()} {shown[0][1:]}, with the same kernels, operations and library calls"
        )
    elif kind in (APART, TOGETHER, KERNELS) and more:
        named += f"; {plural(abs(more), 'kernel')} {'more' if more > 0 else 'fewer'}"
    elif kind not in TITLES:
        named += f"; {abs(more):,} {'more' if more > 0 else 'fewer'}"
    return f"Since {after.python}, {title} in {programs} of {plural(of, 'program')}: {named}"


def _place(found: Sequence[Found]) -> AtlasPlace:
    before, after, first = found[0]
    changes = [change for _, _, change in found]
    of_kernels = first.kind in (APART, TOGETHER, KERNELS, CODES)
    lines = dict.fromkeys(line for change in changes for line in change.lines)
    return AtlasPlace(
        after.program, after.device, after.mode, sum(change.more for change in changes),
        sum(change.nbytes for change in changes) if of_kernels else first.nbytes,
        lines=list(lines), href=urls.compare(before.run_id or "", after.run_id or ""),
    )  # fmt: skip


def as_markdown(events: Sequence[AtlasEvent], server: str = "") -> str:
    """Formats events for a pull request."""
    lines = [f"### Atlas: {plural(len(events), 'event')}", ""]
    for event in events:
        lines.append(f"- {prose(event.text)}")
        for place in event.places:
            where = f"{place.program}, {place.device}, {place.mode}"
            named = link(prose(where), server and server + place.href)
            at = ", ".join(place.lines[:NAMED])
            lines.append(f"  - {named}{f': {at}' if at else ''}")
        lines += [f"  - also {prose(text)}" for text in event.also[:NAMED]]
    return "\n".join(lines) + "\n"


def _xml(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


def feed(name: str, events: Sequence[AtlasEvent], base: str) -> str:
    """Formats events as an Atom feed, the newest first. `base`: what goes before addresses."""
    page = base + urls.atlas(name=name)
    updated = max((event.at for event in events), default=datetime.fromtimestamp(0, UTC))
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<id>{uuid5(NAMESPACE_URL, f'survey {name}').urn}</id><title>Atlas: {_xml(name)}</title>",
        f"<updated>{updated.isoformat()}</updated><author><name>Inductorscope</name></author>",
        f"<link href={quoteattr(page)}/>",
    ]
    for event in sorted(events, key=lambda event: event.at, reverse=True):
        places = (
            f"{place.program}, {place.device}, {place.mode}: {', '.join(place.lines) or 'no lines'}"
            for place in event.places
        )
        lines += [
            f"<entry><id>urn:uuid:{event.id}</id><updated>{event.at.isoformat()}</updated>",
            f"<title>{_xml(event.text.replace('`', ''))}</title>",
            f"<link href={quoteattr(f'{page}#{event.id}')}/>",
            f"<content>{_xml('; '.join(places))}</content></entry>",
        ]
    return "\n".join([*lines, "</feed>"]) + "\n"


def badge(cells: Sequence[SurveyCell], program: str, device: str = "", mode: str = "") -> str:
    """Draws as SVG what the newest torch compiles a program to, by default on its first device and
    in its first mode. Raises NotHere."""
    rows = [row for (of, on, how), row in rows_of(cells).items()
            if of == program and device in ("", on) and mode in ("", how)]  # fmt: skip
    if not rows:
        raise NotHere(f"The survey has no program {program}{device and f' on {device}'}.")
    torch, says = _xml(f"torch {rows[0][-1].python}"), _says(rows[0])
    colour = "#8c1d18" if rows[0][-1].failure else "#31508f"
    left, right = (CHARACTER * len(text) + 12 for text in (torch, says))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">'
        f'<title>{torch}: {_xml(says)}</title><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">'
        f'<text x="6" y="14" textLength="{left - 12}">{torch}</text>'
        f'<text x="{left + 6}" y="14" textLength="{right - 12}">{_xml(says)}</text></g></svg>\n'
    )


def _says(row: Sequence[SurveyCell]) -> str:
    """Says what the newest torch compiled, and how that differs from the torch before."""
    if row[-1].failure:
        return "failed"
    kernels, since = row[-1].counts.get("kernels", 0), ""
    text = plural(kernels, "kernel")
    for before, after in reversed(list(neighbours(row))):
        if after.changes and is_compared(before, after) and not since:
            more = kernels - before.counts.get("kernels", 0)
            return f"{text}, {f'{more:+,}' if more else 'changed'} since {before.python}"
        if after.changes or not is_compared(before, after):
            break
        since = before.python
    return f"{text}, no change since {since}" if since else text
