"""Gathers the records of all processes of a script into one capture. Torch-free."""

import shutil
from dataclasses import dataclass
from pathlib import Path

import msgspec

from inductorscope.capturing.inside.environment import DEBUG_FOLDER
from inductorscope.capturing.script.order import STATUS, STOP
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.formats.capture_facts import (
    COMPILED,
    FACTS,
    LINE_RECORD,
    NO_STEPS,
    CaptureFacts,
    ScriptSteps,
    read_facts,
)
from inductorscope.formats.results import EAGER_RESULTS, RESULTS

CODE = "output_code.py"


@dataclass
class Gathered:
    """The records of one run of the script."""

    facts: CaptureFacts
    """The first process's facts, with the steps of all processes."""
    folder: Path
    """The first process's folder."""


def gather(out: Path, spec: CaptureSpec, label: str) -> Gathered:
    """Returns the facts of all processes; moves their files to where a reader expects them."""
    folders = sorted((out / "processes").glob("*/"))
    known = [(facts, folder) for folder in folders if (facts := read_facts(folder)) is not None]
    known.sort(key=lambda pair: _place(pair[0]))
    if not known:
        facts = CaptureFacts(name=spec.title, model=spec.model, options=spec.to_builtins())
        facts.missing.append(NO_STEPS)
        return Gathered(facts, out)
    facts, folder = known[0]
    if facts.script and facts.script[0].uncalled:
        facts.missing.append(NO_STEPS)
    facts.script = [steps for process, _ in known for steps in process.script]
    if failed := next((process for process, _ in known if process.error is not None), None):
        facts.state, facts.error = failed.state, failed.error
    if label == COMPILED:
        _lay_out(out, [folder for _, folder in known], facts)
    return Gathered(facts, folder)


def _place(facts: CaptureFacts) -> tuple[int, int]:
    """Sorts by rank; without ranks, the process with the most steps is first."""
    steps = facts.script[0] if facts.script else ScriptSteps()
    return (0 if steps.rank is None else steps.rank, -steps.count)


def _lay_out(out: Path, folders: list[Path], facts: CaptureFacts) -> None:
    """Moves the first process's files to the top, and those of others into folders named by
    rank."""
    for number, folder in enumerate(folders):
        rank = facts.script[number].rank if number < len(facts.script) else None
        other = f"process_{number}" if rank is None else f"rank_{rank}"
        target = out if number == 0 else out / other
        for file in folder.iterdir():
            ours = file.name in (FACTS, STATUS) or file.name.startswith(".")
            if not ours and not (file.name == LINE_RECORD and number):
                target.mkdir(exist_ok=True)
                file.replace(target / file.name)
    if len(folders) > 1:
        _keep_common_records(out)
    shutil.rmtree(out / "processes", ignore_errors=True)
    (out / STOP).unlink(missing_ok=True)


def _keep_common_records(out: Path) -> None:
    """Drops records of graphs whose code differs between processes.

    Records are kept by the name of the graph's folder, which several processes share.
    """
    file = out / LINE_RECORD
    if not file.is_file():
        return
    record = msgspec.json.decode(file.read_bytes())
    lengths: dict[str, set[int]] = {}
    for code in (out / DEBUG_FOLDER).glob(f"**/{CODE}"):
        lengths.setdefault(code.parent.name, set()).add(code.read_bytes().count(b"\n"))
    record["graphs"] = {
        name: graph
        for name, graph in record["graphs"].items()
        if len(lengths.get(name, set())) <= 1
    }
    file.write_bytes(msgspec.json.encode(record))


def add_eager(eager: Gathered, out: Path, facts: CaptureFacts) -> None:
    """Adds the eager run's times, profile and steps, and how its work differs."""
    facts.timings = eager.facts.timings | facts.timings
    facts.profiles |= eager.facts.profiles
    for profile in eager.facts.profiles.values():
        for name in (profile.trace, profile.key_averages):
            shutil.move(eager.folder / name, out / name)
    if (eager.folder / RESULTS).is_file():
        shutil.move(eager.folder / RESULTS, out / EAGER_RESULTS)
    if eager.facts.script:
        facts.eager_script = eager.facts.script[0]
        facts.differs = _differences(facts.eager_script, facts.script[0])


def _differences(eager: ScriptSteps, compiled: ScriptSteps) -> list[str]:
    sentences = []
    # A compiled step of an optimizer is not observed, so compare only if both runs observed some.
    if eager.optimizer and compiled.optimizer and eager.optimizer != compiled.optimizer:
        sentences.append(
            f"The optimizer is {eager.optimizer} in eager, {compiled.optimizer} compiled."
        )
    for who, mine, others in (("eager", eager, compiled), ("compiled", compiled, eager)):
        if only := sorted({*mine.inputs} - {*others.inputs}):
            sentences.append(f"Only {who} steps have the inputs {'; '.join(only)}.")
    if eager.compiles:
        sentences.append("The script compiled in the eager run too, so these times are not eager.")
    return sentences
