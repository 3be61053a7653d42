"""The Markdown report of a run's failures: everything known about the first one."""

import re

from msgspec.structs import replace
from sqlalchemy.orm import Session

from inductorscope.analyze.failures.report import ReportParts, issue_markdown
from inductorscope.analyze.failures.shown import PlacedError
from inductorscope.answers.failures.failures import FailuresPage, failures_page
from inductorscope.store.runs.diagnoses import newest_diagnosis
from inductorscope.store.tables.models import Run

LONGEST_ERROR = 6_000
_ADVICE = re.compile(r"^Set TORCHDYNAMO_VERBOSE=1[^\n]*$", re.M)


def reported(session: Session, run_id: str, permalink: str) -> FailuresPage:
    """The page of failures with its report."""
    page = failures_page(session, run_id)
    return replace(page, report=report_of(session, page, permalink))


def report_of(session: Session, page: FailuresPage, permalink: str) -> str:
    run = session.get_one(Run, page.run.id)
    first = page.failures[0] if page.failures else None
    placed = first.errors[0] if first is not None and first.errors else None
    chain = placed.chain if placed is not None else []
    if placed is not None and placed.suspects:
        chain = placed.suspects[0].chain
    if first is not None and not chain and first.nodes:
        chain = first.nodes[0].chain
    fix = [first.fix.do] if first is not None and first.fix is not None else []
    minified = newest_diagnosis(session, run.id, "minify")
    program = (minified.result.get("repro") or {}) if minified is not None else {}
    repro = str(program.get("text") or "")
    verdicts = {kind: panel.verdict for kind, panel in page.panels.items()}
    return issue_markdown(
        ReportParts(
            name=run.name,
            torch=run.torch_version or "",
            torch_git=run.torch_git or "",
            device=run.device_name or run.device_kind or "",
            python=str(run.environment.get("python_version") or ""),
            title=first.title if first is not None else verdicts["numbers"] or verdicts["minify"],
            sentences=[*(first.sentences if first is not None else ()), *fix],
            cause=first.cause if first is not None else "",
            sure=first.sure if first is not None else False,
            kernel=placed.kernel if placed is not None else "",
            code=_marked(placed) if placed is not None else "",
            chain=[(step.title, step.text) for step in chain],
            error=_error(first.message) if first is not None else "",
            components=verdicts.get("components", ""),
            first_wrong=verdicts.get("numbers", ""),
            minified=verdicts.get("minify", "") if repro else "",
            repro=repro,
            permalink=permalink,
        )
    )


def _error(message: str) -> str:
    """The message without the compiler's command, which is long and names local folders."""
    head, command, rest = message.partition("\nCommand:\n")
    if command:
        _, output, said = rest.partition("\nOutput:\n")
        message = f"{head}\n{said if output else rest}"
    return _ADVICE.sub("", message).strip()[:LONGEST_ERROR]


def _marked(placed: PlacedError) -> str:
    lines = []
    for line in placed.lines:
        lines.append(line.text)
        if line.marked:
            marks = " " * placed.start + "^" * max(1, placed.end - placed.start)
            lines.append(f"{marks} {placed.severity}: {placed.message}")
    return "\n".join(lines)
