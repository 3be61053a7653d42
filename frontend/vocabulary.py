"""Writes `src/shared/vocabulary.ts` and `styles/written.css` from the vocabulary of the server,
when the front end is built.

The vocabulary needs no package: nothing of the product has to be installed yet.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import re
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).resolve().parent
TYPESCRIPT = HERE / "src" / "shared" / "vocabulary.ts"
STYLES = HERE / "styles" / "written.css"
TINTS = 8
"""Colours that the explorer gives to source lines in turn."""
DEPTHS = 12
"""Depths to which a list is indented."""

TYPES = """\
// Written by vocabulary.py from formats/vocabulary.py. Change that file instead.

export interface StageEntry {
  id: string;
  title: string;
  language: string;
  missing: string;
  file: string;
  names: "" | "source" | "dynamo" | "fx" | "ir" | "code";
  nodes: boolean;
  opens: boolean;
  picture: { id: string; title: string } | null;
  made_from: string;
  part_of: string;
  ending: string;
}

export interface CategoryEntry {
  id: string;
  title: string;
  hue: string;
}

export interface CertaintyEntry {
  level: number;
  id: string;
  title: string;
  meaning: string;
  tone: string;
}
"""


def load() -> ModuleType:
    sys.path.insert(0, str(HERE.parent / "ingest"))
    return importlib.import_module("inductorscope.formats.vocabulary")


FIELDS = {
    "STAGES": ("StageEntry", re.findall(r"^  (\w+):", TYPES.split("CategoryEntry")[0], re.M)),
    "CATEGORIES": ("CategoryEntry", ["id", "title", "hue"]),
    "HOST_WORK": ("CategoryEntry", ["id", "title", "hue"]),
    "WORKS": ("CategoryEntry", ["id", "title", "hue"]),
    "CERTAINTIES": ("CertaintyEntry", ["level", "id", "title", "meaning", "tone"]),
}


def typescript(vocabulary: ModuleType) -> str:
    ids = [stage.id for stage in vocabulary.STAGES]
    parts = [TYPES, *(f"export const {stage.upper()} = {json.dumps(stage)};" for stage in ids), ""]
    for name, (kind, fields) in FIELDS.items():
        entries = map(dataclasses.asdict, getattr(vocabulary, name))
        rows = [{field: entry[field] for field in fields} for entry in entries]
        parts.append(f"export const {name}: readonly {kind}[] = {json.dumps(rows, indent=2)};\n")
    opened = json.dumps(vocabulary.OPENED)
    parts.append("/** Stages that the explorer shows unasked. */")
    parts.append(f"export const OPENED: readonly string[] = {opened};\n")
    titles = json.dumps(vocabulary.KERNEL_KINDS, indent=2)
    parts.append(f"export const KERNEL_KINDS: Readonly<Record<string, string>> = {titles};\n")
    return "\n".join(parts)


def styles(vocabulary: ModuleType) -> str:
    """Returns a class for each colour that marks something, and for each depth of a list:
    `hue-pointwise`, `tint-1`, `deep-1`."""
    hues = (f".hue-{hue} {{ --hue: var(--{hue}); }}" for hue in vocabulary.HUES)
    tints = (f".tint-{at} {{ --tint: var(--tint-{at}); }}" for at in range(1, TINTS + 1))
    depths = (f".deep-{at} {{ --deep: {at} !important; }}" for at in range(1, DEPTHS + 1))
    return "\n".join([*hues, *tints, *depths, ""])


def write(file: Path, text: str) -> None:
    """Writes a file, unless it has this text: what was built of it is then still right."""
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


if __name__ == "__main__":
    known = load()
    write(TYPESCRIPT, typescript(known))
    write(STYLES, styles(known))
