"""What Nsight Compute's report measured of a kernel."""

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from inductorscope.analyze.machine.samples import REASONS, Sampled, sampled
from inductorscope.answers.machine.compiled import Configuration
from inductorscope.answers.missing import begin
from inductorscope.fields import Bytes, Microseconds, Percent, Prose
from inductorscope.formats.machine.cubin import read_functions
from inductorscope.formats.machine.ncu import (
    DURATION,
    OCCUPANCY,
    READ,
    WRITTEN,
    ProfiledLaunch,
    read_report,
)
from inductorscope.formats.machine.sass import Sass
from inductorscope.formats.sizes import MIB
from inductorscope.formats.vocabulary import NCU_REPORT, SASS
from inductorscope.store.contents.texts import read_blob
from inductorscope.store.tables.models import Artifact

LARGEST = 256 * MIB


class Stall(msgspec.Struct, frozen=True):
    """Why warps stood at an instruction."""

    reason: str
    """The reason, as Nsight Compute names it."""
    waits_for: Prose
    samples: int
    share: Percent


class KernelProfile(msgspec.Struct, frozen=True):
    """A profiled launch of the kernel, in figures."""

    report: str
    """Path of the file."""
    launches: int = 0
    """Number of launches of this code in the reports; the first is shown."""
    duration_us: Microseconds | None = None
    read_bytes: Bytes | None = None
    """Bytes read from the device's memory."""
    written_bytes: Bytes | None = None
    occupancy: Percent | None = None
    """Measured share of active warps, out of those that a multiprocessor can hold."""
    samples: int = 0
    stalls: list[Stall] = msgspec.field(default_factory=list)
    """The most frequent first; they sum to `samples`."""
    missing: Prose = ""
    """Why some or all samples are missing."""


def profiled(
    session: Session, run: str, configuration: Configuration, sass: Sass
) -> tuple[KernelProfile | None, Sampled | None]:
    """Returns a profiled launch, and its samples by lines of the code; None if no report has
    one."""
    query = select(Artifact).where(Artifact.run_id == run, Artifact.role == NCU_REPORT)
    reports = list(session.scalars(query.order_by(Artifact.path)))
    cubin = configuration.files[SASS]
    code = read_functions(read_blob(session, cubin.digest) or b"") if reports else {}
    found: list[tuple[str, ProfiledLaunch]] = []
    other, problem = "", ""
    for file in reports:
        if file.size > LARGEST:
            problem = f"{file.path} is too large: up to {LARGEST // MIB} MiB are read. "
            continue
        begin(f"report {file.digest}", file.size)
        report = read_report(read_blob(session, file.digest) or b"", frozenset(code))
        problem = f"{file.path}: {report.problem} " if report.problem else problem
        for launch in report.launches:
            theirs = read_functions(report.codes.get(launch.code, b""))
            if theirs.get(launch.kernel) == code[launch.kernel]:
                found.append((file.path, launch))
            else:
                other = file.path
    if found:
        path, launch = found[0]
        lines = sampled(sass, launch)
        return _profile(path, len(found), launch, lines, problem), lines
    if other:
        problem += "It profiled other code of this kernel, so its samples belong to no line here."
    path = other or reports[0].path if problem else ""
    return KernelProfile(path, missing=problem) if problem else None, None


def _profile(
    path: str, launches: int, launch: ProfiledLaunch, lines: Sampled, problem: str
) -> KernelProfile:
    figures = launch.figures
    samples = sum(lines.stalls.values())
    if lines.others:
        problem += f"{lines.others.total():,} samples are at addresses of no instruction here."
    nanoseconds, percent = figures.get(DURATION), figures.get(OCCUPANCY)
    return KernelProfile(
        report=path,
        launches=launches,
        duration_us=None if nanoseconds is None else nanoseconds / 1000,
        read_bytes=int(figures[READ]) if READ in figures else None,
        written_bytes=int(figures[WRITTEN]) if WRITTEN in figures else None,
        occupancy=None if percent is None else percent / 100,
        samples=samples,
        stalls=[
            Stall(reason.replace("_", " "), REASONS.get(reason, ""), count, count / samples)
            for reason, count in lines.stalls.items()
        ],
        missing=problem.strip(),
    )
