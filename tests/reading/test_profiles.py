"""Rows of a profile: the same kinds, whether key_averages or the trace says them."""

import json
import shutil
from pathlib import Path

from inductorscope.analyze.verdicts import verdicts
from inductorscope.answers.runs.runs import facts_of
from inductorscope.intake.recognise import recognise
from inductorscope.reading.notes import Notes
from inductorscope.reading.profiles.profiles import draft_of, read_profiles

from tests.support.readings import Database

DEVICE = {
    "triton_poi_fused_neg_0": "kernel",
    "Memcpy HtoD (Pageable -> Device)": "gpu_memcpy",
    "Memset (Device)": "gpu_memset",
}
WANTED = {
    "triton_poi_fused_neg_0": "kernel",
    "Memcpy HtoD (Pageable -> Device)": "memcpy",
    "Memset (Device)": "memset",
    "cudaMemcpyAsync": "cpu_op",
}


def kinds(folder: Path) -> dict[str, str]:
    (profile,) = read_profiles(recognise(folder).files, None, Notes(), None)
    return {row.name: row.category for row in draft_of(profile).rows}


def test_copies_are_no_kernels_wherever_they_are_told(tmp_path: Path) -> None:
    times = {"calls": 1, "self_cpu_us": 0.0, "cpu_us": 0.0, "self_device_us": 2.0, "device_us": 2.0}
    rows = [{"name": name, "device": "cuda", **times} for name in DEVICE]
    rows.append({**rows[0], "name": "cudaMemcpyAsync", "device": "cpu", "cpu_us": 5.0})
    (tmp_path / "rows").mkdir()
    text = json.dumps({"schema": 1, "steps": 1, "rows": rows})
    (tmp_path / "rows" / "eager.key_averages.json").write_text(text)
    assert kinds(tmp_path / "rows") == WANTED

    categories = {**DEVICE, "cudaMemcpyAsync": "cpu_op"}
    events = [
        {"ph": "X", "cat": category, "name": name, "ts": 1.0, "dur": 2.0, "pid": 0, "tid": 7}
        for name, category in categories.items()
    ]
    (tmp_path / "trace").mkdir()
    text = json.dumps({"schemaVersion": 1, "traceEvents": events})
    (tmp_path / "trace" / "eager.trace.json").write_text(text)
    assert kinds(tmp_path / "trace") == WANTED


def test_traces_of_one_name_are_profiles_of_their_own(tmp_path: Path) -> None:
    times = {"calls": 1, "self_cpu_us": 1.0, "cpu_us": 1.0, "self_device_us": 0, "device_us": 0}
    table = json.dumps({"schema": 1, "steps": 1, "rows": [{"name": "a", "device": "cpu", **times}]})
    for folder, us in (("rank0", 1.0), ("rank1", 2.0)):
        (tmp_path / folder).mkdir()
        event = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1.0, "dur": us, "pid": 0, "tid": 7}
        text = json.dumps({"schemaVersion": 1, "traceEvents": [event]})
        (tmp_path / folder / "compiled.trace.json").write_text(text)
    (tmp_path / "rank1" / "compiled.key_averages.json").write_text(table)
    notes = Notes()
    profiles = read_profiles(recognise(tmp_path).files, None, notes, None)
    read = {
        profile.label: (
            sum(kernel.total_us for kernel in profile.trace.kernels) if profile.trace else None,
            profile.rows is not None,
        )
        for profile in profiles
    }
    assert read == {"compiled": (1.0, False), "rank1/compiled.trace.json": (2.0, True)}
    assert not notes.dropped()


def test_steps_that_call_no_compiled_code_are_told(
    db: Database, fixtures: Path, tmp_path: Path
) -> None:
    for name in ("eager", "compiled"):
        folder, whole = tmp_path / name, fixtures / "cuda-foo1"
        folder.mkdir()
        shutil.copy(whole / "result.json", folder)
        shutil.copy(whole / f"{name}.trace.json.gz", folder / "compiled.trace.json.gz")
        told = verdicts(facts_of(db.run(db.read(folder))))[0]
        assert (told.label == "runs uncompiled") == (name == "eager")
