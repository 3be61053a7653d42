"""Asks the forty questions, and counts the tokens that each answer takes.

    python -m bench.agents      writes the table in docs/agents.md

An answer counts if the first call of the tool that one would take returns the facts, within its
usual budget. Raw files are those that hold the facts, whole; of tlparse's output the first page and
the smallest file that holds them. A token is four bytes.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from inductorscope.agents import tools
from inductorscope.agents.terse import terse
from inductorscope.agents.verify import verify
from inductorscope.cli.local import read_paths
from inductorscope.markdown.budget import tokens
from inductorscope.reading.graphs.relink import relink
from inductorscope.settings import Settings
from inductorscope.store.database.engine import make_engine, sessions
from sqlalchemy.orm import Session

from bench.agents.questions import LOG, QUESTIONS, RUNS, Question, place, raw_files, text
from bench.peers import tlparse

BASE = "http://127.0.0.1:8765"
"""Where links lead: the address of `inductorscope serve`."""
DOCS = Path(__file__).resolve().parents[2] / "docs" / "agents.md"
TABLE = re.compile(r"(?<=<!-- questions -->\n).*(?=<!-- end -->)", re.S)
TOOLS = {**vars(tools), "verify": verify}


def name_of(run: str) -> str:
    return run.rpartition("/")[2]


def read_all(settings: Settings) -> None:
    for run in RUNS:
        read_paths(
            settings, [place(run)], name=name_of(run), tags=[], origin="ingest",
            progress=lambda *_: None,
        )  # fmt: skip
    relink(make_engine(settings))  # aligns the lines of kernels


def asked(session: Session, question: Question) -> str:
    """The answer of the tool, as an agent gets it."""
    given = dict(question.arguments)
    if "other" in given:
        given["other"] = name_of(str(given["other"]))
    about = given.pop("query", "") if question.tool == "find_runs" else name_of(question.run)
    return terse(TOOLS[question.tool](session, about, base=BASE, **given))


def raw_tokens(question: Question) -> int:
    return sum(
        tokens(text(file)) for file in raw_files(question.run, question.files) if file.is_file()
    )


def parsed(run: str, work: Path) -> list[Path]:
    """Files that tlparse writes for a run's log."""
    log = next(iter(raw_files(run, (LOG, "*.log"))), None)
    out = work / name_of(run)
    if log is None or log.suffix != ".log":
        return []
    command = [str(tlparse()), "--no-browser", "--overwrite", "-o", str(out), str(log)]
    subprocess.run(command, check=False, capture_output=True)
    return sorted(file for file in out.rglob("*") if file.is_file())


def of_tlparse(files: list[Path], facts: list[str]) -> int | None:
    """Tokens of its first page, and of the smallest other file that holds the facts if that does
    not. Their marks do not count; a bare number fits anywhere, which favours it."""
    bare = [re.sub(r"^- [\w ]+: |^\W+|\W+$", "", fact) for fact in facts]
    index, found = 0, []
    for file in files:
        content = file.read_text(errors="replace")
        if file.name == "index.html":
            index = tokens(content)
        if all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", content) for word in bare):
            found.append(0 if file.name == "index.html" else tokens(content))
    return index + min(found) if found else None


def table() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        settings = Settings(data=work / "data", database_url="")
        read_all(settings)
        outputs = {run: parsed(run, work) for run in RUNS}
        engine = make_engine(settings)
        ours, raw, theirs, right = [], [], [], 0
        yield "| question | tool | answered | tokens | raw files | tlparse |"
        yield "|---|---|---|---:|---:|---:|"
        with sessions(engine, read_only=True)() as session:
            for question in QUESTIONS:
                answer, facts = asked(session, question), question.answer()
                held = bool(facts) and all(fact in answer for fact in facts)
                right += held
                if not held:
                    print(f"{question.text} {facts} is not in:\n{answer}", file=sys.stderr)
                peer = of_tlparse(outputs[question.run], facts)
                ours.append(tokens(answer))
                raw.append(raw_tokens(question))
                if peer is not None:
                    theirs.append((tokens(answer), peer))
                yield (
                    f"| {question.text} | `{question.tool}` | {'yes' if held else 'no'} | "
                    f"{ours[-1]:,} | {raw[-1]:,} | {'—' if peer is None else f'{peer:,}'} |"
                )
        engine.dispose()
        times = median(raw_ms / own for raw_ms, own in zip(raw, ours, strict=True))
        both = sum(own for own, _ in theirs), sum(peer for _, peer in theirs)
        yield ""
        yield (
            f"{right} of {len(QUESTIONS)} first answers hold the fact, in {sum(ours):,} tokens. "
            f"The raw files have {sum(raw):,}, {sum(raw) / sum(ours):.0f} times as many (median of "
            f"the questions: {times:.0f} times). tlparse's output holds {len(theirs)} of the "
            f"facts, in {both[1]:,} tokens, {both[1] / both[0]:.1f} times as many as our answers "
            f"to these ({both[0]:,})."
        )


if __name__ == "__main__":
    written = "\n".join(table())
    print(written)
    DOCS.write_text(TABLE.sub(lambda _: f"\n{written}\n", DOCS.read_text()))
