"""Archives of every usual kind, whole and broken."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.recognise import recognise
from inductorscope.intake.unpack import unpack

MIB = 1024 * 1024
LIMITS = Limits(
    max_upload_bytes=64 * MIB, max_unpacked_bytes=256 * MIB, max_members=1000, max_ratio=1000
)
FILES = {"run/a.txt": b"alpha\n" * 50, "run/deep/b.py": b"x = 1\n", "run/empty.log": b""}

Files = dict[str, bytes]


def as_zip(files: Files) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def as_tar(files: Files) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


PACKERS: dict[str, Callable[[Files], bytes]] = {
    "zip": as_zip,
    "tar": as_tar,
    "tar.gz": lambda files: gzip.compress(as_tar(files)),
    "tar.xz": lambda files: lzma.compress(as_tar(files)),
    "tar.zst": lambda files: zstandard.compress(as_tar(files)),
    "tar.bz2": lambda files: bz2.compress(as_tar(files)),
}


def contents(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", ["upload.{}", "no-ending", "wrong.tar.gz", "wrong.zip"])
def test_archives_by_their_bytes_whatever_they_are_called(
    tmp_path: Path, kind: str, name: str
) -> None:
    source = tmp_path / name.format(kind)
    source.write_bytes(PACKERS[kind](FILES))
    unpack(source, tmp_path / "out", LIMITS)
    assert contents(tmp_path / "out") == FILES


@pytest.mark.parametrize(
    ("name", "pack"),
    [("x.json.gz", gzip.compress), ("x.json.xz", lzma.compress), ("x.json.bz2", bz2.compress),
     ("x.json.zst", zstandard.compress)],
)  # fmt: skip
def test_a_single_packed_file_loses_its_ending(
    tmp_path: Path, name: str, pack: Callable[[bytes], bytes]
) -> None:
    (tmp_path / name).write_bytes(pack(b'{"traceEvents": []}'))
    unpack(tmp_path / name, tmp_path / "out", LIMITS)
    assert contents(tmp_path / "out") == {"x.json": b'{"traceEvents": []}'}


def test_streams_of_several_parts(tmp_path: Path) -> None:
    for name, pack in (("a.gz", gzip.compress), ("a.xz", lzma.compress),
                       ("a.zst", zstandard.compress)):  # fmt: skip
        (tmp_path / name).write_bytes(pack(b"one ") + pack(b"two"))
        unpack(tmp_path / name, tmp_path / f"out-{name}", LIMITS)
        assert contents(tmp_path / f"out-{name}") == {"a": b"one two"}


def test_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "output_code.py").write_text("code")
    unpack(tmp_path / "output_code.py", tmp_path / "out", LIMITS)
    assert contents(tmp_path / "out") == {"output_code.py": b"code"}


def test_a_folder_keeps_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "b.txt").write_text("b")
    unpack(folder, tmp_path / "out", LIMITS)
    assert contents(tmp_path / "out") == {"run/deep/b.txt": b"b"}


def test_a_folder_of_one_archive_is_that_archive(tmp_path: Path) -> None:
    folder = tmp_path / "upload" / "files"
    folder.mkdir(parents=True)
    (folder / "x.tgz").write_bytes(PACKERS["tar.gz"](FILES))
    unpack(tmp_path / "upload", tmp_path / "out", LIMITS)
    assert contents(tmp_path / "out") == FILES


def test_harmless_names_are_kept(tmp_path: Path) -> None:
    files = {"<script>alert(1)</script>.txt": b"1", "spaß \u202e.log": b"2", "a'b\"c&d;$(x)": b"3"}
    for kind in ("zip", "tar"):
        source = tmp_path / f"odd.{kind}"
        flat = {name.replace("/", "_"): data for name, data in files.items()}
        source.write_bytes(PACKERS[kind](flat))
        unpack(source, tmp_path / kind, LIMITS)
        assert contents(tmp_path / kind) == flat


def test_names_that_differ_in_case_never_replace_each_other(tmp_path: Path) -> None:
    source = tmp_path / "case.tar"
    source.write_bytes(as_tar({"Output_code.py": b"1", "output_code.py": b"2"}))
    try:
        unpack(source, tmp_path / "out", LIMITS)
    except Refused:  # where the file system does not tell cases apart
        assert not (tmp_path / "out").exists()
    else:
        assert sorted(contents(tmp_path / "out").values()) == [b"1", b"2"]


def test_backslashes_of_windows_packers_separate(tmp_path: Path) -> None:
    source = tmp_path / "w.zip"
    source.write_bytes(as_zip({"run\\deep\\b.py": b"x", "run\\a": b"y"}))
    unpack(source, tmp_path / "out", LIMITS)
    assert contents(tmp_path / "out") == {"run/deep/b.py": b"x", "run/a": b"y"}


def test_the_target_must_be_empty(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("kept")
    with pytest.raises(FileExistsError):
        unpack(tmp_path / "a.txt", tmp_path / "out", LIMITS)
    assert contents(tmp_path / "out") == {"mine": b"kept"}


def test_progress_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.tgz").write_bytes(PACKERS["tar.gz"](FILES))
    seen: list[int] = []
    unpack(tmp_path / "a.tgz", tmp_path / "out", LIMITS, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] >= sum(map(len, FILES.values()))


def refused(tmp_path: Path, name: str, data: bytes) -> str:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(Refused) as caught:
        unpack(tmp_path / name, tmp_path / "out", LIMITS)
    assert not (tmp_path / "out").exists()
    assert str(caught.value).endswith(".")
    return str(caught.value)


@pytest.mark.parametrize("kind", PACKERS)
def test_cut_in_half(tmp_path: Path, kind: str) -> None:
    files = {f"f{i}": bytes(range(256)) * 40 + str(i).encode() * 999 for i in range(20)}
    data = PACKERS[kind](files)
    assert "damaged or cut short" in refused(tmp_path, f"half.{kind}", data[: len(data) // 2])


@pytest.mark.parametrize("kind", PACKERS)
def test_cut_anywhere(tmp_path: Path, kind: str) -> None:
    """Cut between the last file and the end mark too: half a run must not look like a whole."""
    data = PACKERS[kind]({"a": b"alpha" * 200, "b": b"beta" * 300})
    if kind == "tar":  # padding after the end mark may be missing
        data = data[: data.rindex(b"beta") + 4 + 512]
    for cut in range(1, len(data) - 1, max(1, len(data) // 60)):
        (tmp_path / "cut").write_bytes(data[:cut])
        try:
            unpack(tmp_path / "cut", tmp_path / "out", LIMITS)
        except Refused:
            assert not (tmp_path / "out").exists()
        else:  # so short that it is no archive any more
            assert contents(tmp_path / "out") == {"cut": data[:cut]}
            assert cut < 600
            (tmp_path / "out" / "cut").unlink()
            (tmp_path / "out").rmdir()


def test_flipped_bits_in_a_packed_member(tmp_path: Path) -> None:
    data = bytearray(as_zip({"a": bytes(range(256)) * 20}))
    data[60] ^= 0xFF
    assert "damaged" in refused(tmp_path, "flipped.zip", bytes(data))


def test_empty_file(tmp_path: Path) -> None:
    assert "is empty" in refused(tmp_path, "nothing.zip", b"")


@pytest.mark.parametrize("kind", PACKERS)
def test_empty_archive(tmp_path: Path, kind: str) -> None:
    assert "holds no files" in refused(tmp_path, f"empty.{kind}", PACKERS[kind]({}))


def test_archive_of_empty_folders(tmp_path: Path) -> None:
    assert "holds no files" in refused(tmp_path, "folders.zip", as_zip({"a/": b"", "a/b/": b""}))


def test_not_an_archive(tmp_path: Path) -> None:
    assert "is not an archive" in refused(tmp_path, "page.tar.gz", b"<html>404</html>")


def test_archive_of_a_kind_that_is_not_read(tmp_path: Path) -> None:
    assert "7z archive" in refused(tmp_path, "x.7z", b"7z\xbc\xaf\x27\x1c" + bytes(100))


NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="/\\\0:", exclude_categories=["Cs"]),
    min_size=1,
    max_size=20,
).filter(lambda name: name not in {".", ".."})
TREES = st.dictionaries(
    st.lists(NAMES, min_size=1, max_size=3).map("/".join), st.binary(max_size=2000), min_size=1
).filter(lambda tree: not any(a != b and b.startswith(f"{a}/") for a in tree for b in tree))


@given(TREES, st.sampled_from(sorted(PACKERS)))
@settings(max_examples=60)
def test_archives_round_trip(
    tmp_path_factory: pytest.TempPathFactory, tree: Files, kind: str
) -> None:
    box = tmp_path_factory.mktemp("trip")
    (box / "archive").write_bytes(PACKERS[kind](tree))
    unpack(box / "archive", box / "out", LIMITS)
    assert contents(box / "out") == tree
    recognise(box / "out")


@given(st.binary(max_size=3000), st.sampled_from(["", *sorted(PACKERS)]), st.data())
def test_arbitrary_and_mutated_bytes_unpack_or_are_refused(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, kind: str, data: st.DataObject
) -> None:
    box = tmp_path_factory.mktemp("noise")
    if kind:
        whole = bytearray(PACKERS[kind](FILES))
        for at in data.draw(st.lists(st.integers(0, len(whole) - 1), max_size=6)):
            whole[at] = data.draw(st.integers(0, 255))
        noise = bytes(whole)
    (box / "archive").write_bytes(noise)
    try:
        unpack(box / "archive", box / "out", LIMITS)
    except Refused:
        assert not (box / "out").exists()
    else:
        recognise(box / "out")
    assert {path.name for path in box.iterdir()} <= {"archive", "out"}
