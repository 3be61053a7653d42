"""What is disassembled ends as text or as a sentence, whatever the programs make of it."""

import hashlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, note
from hypothesis import strategies as st
from inductorscope.analyze.machine.loops import loops_of
from inductorscope.answers.machine.code import kinds_of, read_library
from inductorscope.answers.missing import NotAnalysed
from inductorscope.disassembling.limited import NotDisassembled, printed_by

from tests.fuzz.mutations import hostile
from tests.fuzz.test_any_input import budget

MAGIC = b"\x7fELF"
KERNEL = 'extern "C" void kernel(float* out) { for (long i = 0; i < 64; i++) out[i] += i; }'
SMALL = ("-O1", "-g1", "-fPIC", "-shared", "-nostdlib", "-Wl,-z,noseparate-code", "-xc++", "-")


@pytest.mark.timeout(6 * 3600)
def test_any_library_is_text_or_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path))
    library = tmp_path / "kernel.main.so"
    command = ["g++", *SMALL, "-o", str(library)]
    subprocess.run(command, input=KERNEL.encode(), check=True)
    whole = library.read_bytes()
    cuts = st.tuples(st.integers(0, len(whole) - 1), st.binary(min_size=1, max_size=40)).map(
        lambda cut: whole[: cut[0]] + cut[1] + whole[cut[0] + len(cut[1]) :]
    )

    @budget(2)
    @given(st.one_of(cuts, cuts, hostile([whole]).map(lambda data: MAGIC + data[4:])))
    def one_case(data: bytes) -> None:
        note(f"{data!r}")
        try:
            code, spills = read_library(data, hashlib.sha256(data).hexdigest())
        except NotAnalysed:
            return
        assert len(code.lines) == len(code.at) == len(spills) == len(kinds_of(code))
        loops_of(code)

    one_case()


def test_the_next_program_reads_what_an_older_one_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDUCTORSCOPE_DATA", str(tmp_path))
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_text("#!/bin/sh\necho 'a warning' >&2; echo 'an unknown version' >&2; exit 1\n")
    new.write_text("#!/bin/sh\necho text\n")
    for program in (old, new):
        program.chmod(0o755)
    assert printed_by([str(old), str(new)], "", MAGIC, "a", ()) == "text\n"
    with pytest.raises(NotDisassembled, match="cannot read this kernel: an unknown version"):
        printed_by([str(old), "no-such-program"], "", MAGIC, "b", ())
    with pytest.raises(NotDisassembled, match="not installed"):
        printed_by(["no-such-program"], "not installed", MAGIC, "c", ())
