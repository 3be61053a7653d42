"""Writes tables of the docs: `make docs`.

Those of records in `logs.md` come from `formats/log/kinds.py`, those of inputs in `reading.md` from
`tests/support/inputs.py`.
"""

from __future__ import annotations

import re
from pathlib import Path

from inductorscope.formats.log.kinds import ARTIFACTS, ENDINGS, KINDS, Kind
from inductorscope.formats.vocabulary import STAGES

from tests.support.inputs import INPUTS

INPUTS_PAGE = Path(__file__).parent / "reading.md"
PAGE = Path(__file__).parent / "logs.md"
OTHERS = Kind("any other", "as logged", "records of its compile, under its name")


def row(kind: Kind, name: str) -> str:
    """A row with every place that shows a kind."""
    stages = [stage.title for stage in STAGES if kind.text and stage.role == kind.text.role]
    explorer = "; Explorer: " + ", ".join(f"*{title}*" for title in stages) if stages else ""
    compared = ", compared with the graph before" if kind.passes else ""
    return f"| {name} | {kind.meaning} | {kind.shown}{compared}{explorer} |"


def table(heading: str, rows: list[str]) -> str:
    return "\n".join([f"| {heading} | what it is | where it appears |", "|---|---|---|", *rows])


def tables() -> dict[str, str]:
    """Heading of a section → the table below it."""
    kinds = [row(kind, f"`{kind.name}`") for kind in KINDS]
    artifacts = [row(kind, f"`{kind.name}`") for kind in ARTIFACTS]
    ends = [row(kind, f"`…{kind.name}`") for kind in ENDINGS]
    return {
        "## Kinds": table("kind", kinds),
        "## Artifacts, by name": table("artifact", [*artifacts, *ends, row(OTHERS, OTHERS.name)]),
    }


def input_tables() -> dict[str, str]:
    tables = {}
    for section in dict.fromkeys(kind.section for kind in INPUTS):
        rows = [
            f"| {kind.kind} | {kind.result} | {kind.becomes} |"
            for kind in INPUTS
            if kind.section == section
        ]
        head = [
            "| input | result | what it becomes; what is missing; what to do |",
            "|---|---|---|",
        ]
        tables[f"## {section}"] = "\n".join([*head, *rows])
    return tables


def written(page: str, tables: dict[str, str]) -> str:
    """The page with its tables as they should be."""
    for heading, rows in tables.items():
        before, found, rest = page.partition(f"{heading}\n\n")
        after = re.sub(r"\A(?:\|.*\n)*", "", rest)
        page = f"{before}{found}{rows}\n{after}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(), tables()))
    INPUTS_PAGE.write_text(written(INPUTS_PAGE.read_text(), input_tables()))
