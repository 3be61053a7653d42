"""Several things sent together: one layout, whatever they are and in whatever order they came."""

import gzip
import zipfile
from pathlib import Path

import pytest
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.unpack import any_archive, lay_out
from msgspec.structs import replace

KIB = 1024
LIMITS = Limits(
    max_upload_bytes=1024 * KIB, max_unpacked_bytes=100 * KIB, max_members=10, max_ratio=1000
)


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """A zip, a folder, a log and a compressed log."""
    folder = tmp_path / "more"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "c.txt").write_bytes(b"c")
    zipped(folder / "nested.zip", {"x": b"x"})
    log, packed = tmp_path / "b.log", tmp_path / "d.log.gz"
    log.write_bytes(b"log")
    packed.write_bytes(gzip.compress(b"log"))
    return [zipped(tmp_path / "a.zip", {"run/a.py": b"a", "b.log": b"other"}), folder, log, packed]


def laid_out(parts: list[Path], into: Path) -> dict[str, bytes]:
    lay_out(parts, into, LIMITS)
    return {
        str(path.relative_to(into)): path.read_bytes() for path in into.rglob("*") if path.is_file()
    }


def test_archives_are_unpacked_and_files_stay(parts: list[Path], tmp_path: Path) -> None:
    found = laid_out(parts, tmp_path / "all")
    assert found.pop("more/nested.zip").startswith(b"PK")
    assert gzip.decompress(found.pop("d.log.gz")) == b"log"
    assert found == {
        "run/a.py": b"a",
        "b.log": b"other",
        "1-b.log": b"log",
        "more/deep/c.txt": b"c",
    }
    assert laid_out(parts[::-1], tmp_path / "again").keys() >= found.keys()


def test_what_was_given_stays_as_it_is(tmp_path: Path) -> None:
    """Writing into what was laid out must never reach the files of whoever gave them."""
    lone, folder = tmp_path / "a.log", tmp_path / "folder"
    folder.mkdir()
    for file in (lone, folder / "b.log"):
        file.write_text("theirs")
    into = tmp_path / "all"
    lay_out([lone, folder], into, LIMITS)
    for file in (into / "a.log", into / "folder" / "b.log"):
        file.write_text("ours")
    assert lone.read_text() == (folder / "b.log").read_text() == "theirs"


def test_the_limits_are_common(tmp_path: Path) -> None:
    """Each part is within the limits, all of them together are not."""
    one = zipped(tmp_path / "a.zip", {"a": bytes(60 * KIB)})
    two = zipped(tmp_path / "b.zip", {"b": bytes(60 * KIB)})
    plain = tmp_path / "c.log"
    plain.write_bytes(bytes(60 * KIB))
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "d.log").write_bytes(bytes(60 * KIB))
    for number, second in enumerate((two, plain, folder)):
        with pytest.raises(Refused, match="The upload is more than 100 KiB"):
            lay_out([one, second], tmp_path / f"bytes-{number}", LIMITS)
    for name in ("e", "f"):
        zipped(tmp_path / f"{name}.zip", {f"{name}{i}": b"" for i in range(6)})
    with pytest.raises(Refused, match="holds more than 10 files") as caught:
        lay_out([tmp_path / "e.zip", tmp_path / "f.zip"], tmp_path / "members", LIMITS)
    assert caught.value.limit == "max_members"
    lay_out([one, two], tmp_path / "fits", replace(LIMITS, max_unpacked_bytes=130 * KIB))


def test_what_would_be_unpacked(parts: list[Path]) -> None:
    assert any_archive(parts)
    assert not any_archive(parts[1:])
