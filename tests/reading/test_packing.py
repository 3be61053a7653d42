"""`inductorscope pack` collects what can be read, without secrets."""

import shutil
import tarfile
from pathlib import Path

import inductorscope.cli.commands.text.pack  # noqa: F401  # adds the command
import pytest
from inductorscope.cli.app import app
from inductorscope.errors import REFUSED
from inductorscope.formats.vocabulary import CHROME_TRACE
from inductorscope.intake.limits import Limits
from inductorscope.intake.recognise import recognise
from inductorscope.intake.unpack import unpack
from inductorscope.settings import Settings
from typer.testing import CliRunner

SECRET = "hf_" + "aBcDeFgHiJkLmNoPqRsTuVwXyZ01234567"


def test_a_pack_holds_what_can_be_read(fixtures: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copytree(fixtures / "cuda-foo1", program)
    (program / "weights.bin").write_bytes(b"\0" * 9999)
    code = next(program.rglob("output_code.py"))
    code.write_text(f"{code.read_text()}\n# {SECRET}\n")
    before = {file.role for file in recognise(program).files}
    archive = tmp_path / "run.tgz"

    result = CliRunner().invoke(app, ["pack", str(program), "-o", str(archive)])

    assert result.exit_code == 0, result.output
    assert "weights.bin" in result.stderr
    assert "Removed 1 secret." in result.stdout
    unpack(archive, tmp_path / "back", Limits.of(Settings(data=tmp_path, database_url="")))
    files = recognise(tmp_path / "back").files
    assert {file.role for file in files} == before - {"other"}
    assert not any(SECRET.encode() in file.absolute.read_bytes() for file in files)
    traces = [file.absolute.read_bytes() for file in files if file.role == CHROME_TRACE]
    assert traces
    assert all(trace.lstrip().startswith(b"{") for trace in traces)
    with tarfile.open(archive) as packed:
        assert {member.uname for member in packed} == {""}


@pytest.mark.parametrize("content", [b"", b"\0" * 99])
def test_nothing_to_pack(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file.bin").write_bytes(content)
    archive = tmp_path / "run.tgz"
    result = CliRunner().invoke(app, ["pack", str(tmp_path / "file.bin"), "-o", str(archive)])
    assert result.exit_code == REFUSED
    assert not archive.exists()
