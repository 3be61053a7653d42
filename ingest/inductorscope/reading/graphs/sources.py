"""The user's source files: those in the upload, and others rebuilt from stack comments."""

import re
from itertools import takewhile
from pathlib import PurePosixPath

import msgspec

from inductorscope.analyze.compile.model import Frame
from inductorscope.formats.graph.fx import FxText
from inductorscope.formats.log.record import Frame as RaisedFrame
from inductorscope.formats.vocabulary import OTHER, SOURCE
from inductorscope.intake.files import File
from inductorscope.reading.notes import Notes
from inductorscope.reading.texts import read_text


class Quote(msgspec.Struct, frozen=True):
    """A source line as a stack comment quotes it: without indentation."""

    code: str
    function: str


Quotes = dict[str, dict[int, Quote]]
"""Path as stack frames name it → line → quote."""

LAST_LINE = 200_000
"""Quotes of later lines are ignored: no source is that long, and all lines before are stored."""
MATCHING = 0.8
_SELF = re.compile(r"\bself\b")


class Sources(msgspec.Struct):
    """Files, and texts put together from quotes, by the path in stack frames."""

    files: dict[str, File] = msgspec.field(default_factory=dict)
    rebuilt: dict[str, str] = msgspec.field(default_factory=dict)


def find_sources(files: list[File], quotes: Quotes, notes: Notes) -> Sources:
    """Finds the file for every path that stack comments quote, if the upload has it."""
    found = Sources()
    listed = {file.source_path: file for file in files if file.source_path}
    by_name: dict[str, list[File]] = {}
    for file in files:
        if file.absolute.suffix == ".py" and file.role in {SOURCE, OTHER}:
            by_name.setdefault(file.absolute.name, []).append(file)
    for path, lines in quotes.items():
        own = listed.get(path) or _recognised(path, lines, by_name)
        if own is not None:
            found.files[path] = own
        else:
            found.rebuilt[path] = _rebuild(path, lines, notes)
    found.files |= listed
    return found


def add_quotes(quotes: Quotes, text: FxText) -> None:
    """Adds the lines that stack comments quote, by file and line. The first quote of a line
    counts."""
    for node in text.nodes:
        if node.stack_file and node.stack_line > 0:
            lines = quotes.setdefault(node.stack_file, {})
            if node.stack_code or node.stack_line not in lines:
                quote = Quote(node.stack_code, node.stack_function)
                before = lines.get(node.stack_line)
                lines[node.stack_line] = before if before and before.code else quote


def add_frames(quotes: Quotes, frames: list[Frame | RaisedFrame]) -> None:
    """Adds the lines that stacks and failures quote, of files that graphs quote too."""
    for frame in frames:
        lines = quotes.get(frame.file)
        if lines is not None and frame.code and frame.line > 0:
            lines.setdefault(frame.line, Quote(frame.code, frame.function))


def _recognised(path: str, lines: dict[int, Quote], by_name: dict[str, list[File]]) -> File | None:
    """Returns an uploaded file whose path ends alike and whose lines match the quotes."""
    parts = PurePosixPath(path.replace("\\", "/")).parts
    candidates = by_name.get(parts[-1], []) if parts else []

    def same_end(file: File) -> int:
        pairs = zip(reversed(parts), reversed(file.absolute.parts), strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    candidates = sorted(candidates, key=same_end, reverse=True)
    return next((f for f in candidates if _says(read_text(f.absolute), lines)), None)


def _says(text: str, quoted: dict[int, Quote]) -> bool:
    lines = text.split("\n")
    readable = {number: quote.code for number, quote in quoted.items() if quote.code.strip()}
    if not readable:
        return False
    right = sum(
        number <= len(lines) and lines[number - 1].strip() == code.strip()
        for number, code in readable.items()
    )
    return right >= MATCHING * len(readable)


def _rebuild(path: str, quoted: dict[int, Quote], notes: Notes) -> str:
    """Returns the quoted lines at their real numbers, with empty lines between."""
    kept = {number: quote for number, quote in quoted.items() if number <= LAST_LINE}
    if len(kept) < len(quoted):
        notes.add(path, f"quoted lines beyond {LAST_LINE:,} were left out", len(quoted) - len(kept))
    methods = {quote.function for quote in kept.values() if _SELF.search(quote.code)}
    lines = [""] * max(kept, default=0)
    for number, quote in kept.items():
        code = quote.code.strip().replace("\n", " ").replace("\r", " ")
        # A method's body is deeper than a function's; blocks in them are unknown.
        depth = 8 if quote.function in methods else 4
        outside = quote.function in ("", "<module>")
        lines[number - 1] = code if outside or not code else " " * depth + code
    return "\n".join(lines) + "\n" if lines else ""
