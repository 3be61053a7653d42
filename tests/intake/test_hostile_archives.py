"""Archives made to harm: each is refused with a sentence, and nothing is left."""

import gzip
import io
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from inductorscope.intake.exported import as_characters, first_line
from inductorscope.intake.limits import Limits, Refused
from inductorscope.intake.unpack import unpack
from msgspec.structs import replace

MIB = 1024 * 1024
ROOMY = Limits(
    max_upload_bytes=1024 * MIB, max_unpacked_bytes=4096 * MIB, max_members=100_000, max_ratio=1000
)

Unpack = Callable[..., Refused]


@pytest.fixture
def refusal(tmp_path: Path) -> Unpack:
    """Unpacks bytes, which must be refused; returns the refusal once all is seen to be clean."""

    def attempt(data: bytes, name: str = "upload.bin", limits: Limits = ROOMY) -> Refused:
        box = tmp_path / "box"
        box.mkdir()
        source = box / name
        source.write_bytes(data)
        into = box / "out" / "deep"
        into.parent.mkdir()
        with pytest.raises(Refused) as caught:
            unpack(source, into, limits)
        assert not into.exists()
        assert sorted(box.rglob("*")) == sorted([source, into.parent])
        assert sorted(tmp_path.iterdir()) == [box]
        sentence = str(caught.value)
        assert name in sentence
        assert sentence.endswith(".")
        assert "\n" not in sentence
        assert "\0" not in sentence
        return caught.value

    return attempt


def zip_of(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return out.getvalue()


def tar_of(*members: tarfile.TarInfo | str, **options: object) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", **options) as archive:  # type: ignore[call-overload]
        for member in members:
            info = tarfile.TarInfo(member) if isinstance(member, str) else member
            if info.isreg() and not info.size:
                info.size = 5
            archive.addfile(info, io.BytesIO(b"x" * info.size) if info.isreg() else None)
    return out.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def _sized(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    return info


ESCAPES = [
    ("../../x", "out of its folder"),
    ("a/../../x", "out of its folder"),
    ("a/../b", "out of its folder"),
    ("/etc/cron.d/x", "absolute"),
    ("C:\\windows\\x", "absolute"),
    ("c:x", "absolute"),
    ("..\\..\\x", "out of its folder"),
    ("\\\\server\\share\\x", "absolute"),
    ("..", "out of its folder"),
]


@pytest.mark.parametrize(("name", "word"), ESCAPES)
def test_zip_member_that_escapes(refusal: Unpack, name: str, word: str) -> None:
    assert word in str(refusal(zip_of(("fine.txt", b"fine"), (name, b"x"))))


@pytest.mark.parametrize(("name", "word"), ESCAPES)
def test_tar_member_that_escapes(refusal: Unpack, name: str, word: str) -> None:
    assert word in str(refusal(tar_of("fine.txt", name)))


def export_of(archive: bytes, *, offset: int = 0, length: int | None = None) -> bytes:
    """An exported run with this archive; `offset` and `length`: what its first line claims."""
    held = as_characters(gzip.compress(archive))
    start = len(first_line(0, 0))
    line = first_line(offset or start, len(held) if length is None else length)
    return line + held + b"</script></html>"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (export_of(tar_of("fine.txt", "../../x")), "out of its folder"),
        (export_of(tar_of("a", special("link", tarfile.SYMTYPE, "/etc/passwd"))), "symbolic link"),
        (export_of(tar_of("a"), length=10**15 - 1), "damaged"),
        (export_of(tar_of("a"), offset=10**9), "damaged"),
        (export_of(tar_of("a"), offset=7), "damaged"),
        (export_of(tar_of("a"), length=40), "damaged"),
        (export_of(b""), "holds no files"),
        (export_of(b"", length=0), "holds no files"),
    ],
    ids=["escapes", "link", "too long", "beyond", "elsewhere", "cut short", "empty", "a part"],
)
def test_an_export_that_lies(refusal: Unpack, data: bytes, word: str) -> None:
    assert word in str(refusal(data, "run.html"))


def test_a_bomb_in_an_export(refusal: Unpack) -> None:
    export = export_of(tar_of(_sized("zeros", 128 * MIB)))
    assert refusal(export, "run.html", _with(max_ratio=500)).limit == "max_ratio"


def test_zip_symlink(refusal: Unpack) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    assert "symbolic link" in str(refusal(zip_of(("a", b"a"), (link, b"/etc/passwd"))))


def test_zip_fifo(refusal: Unpack) -> None:
    pipe = zipfile.ZipInfo("pipe")
    pipe.external_attr = (stat.S_IFIFO | 0o666) << 16
    assert "device or pipe" in str(refusal(zip_of((pipe, b""))))


def test_tar_symlink(refusal: Unpack) -> None:
    link = special("link", tarfile.SYMTYPE, "/etc/passwd")
    assert "symbolic link" in str(refusal(tar_of("a", link, "link/x")))


def test_tar_hard_link(refusal: Unpack) -> None:
    link = special("link", tarfile.LNKTYPE, "../../../etc/passwd")
    assert "hard link" in str(refusal(tar_of("a", link)))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_tar_device_or_fifo(refusal: Unpack, kind: bytes) -> None:
    assert "device or pipe" in str(refusal(tar_of("a", special("dev", kind))))


def test_tar_member_of_unknown_kind(refusal: Unpack) -> None:
    assert "sparse" in str(refusal(tar_of(special("hole", tarfile.GNUTYPE_SPARSE))))


def test_gzip_bomb_names_the_ratio(refusal: Unpack) -> None:
    caught = refusal(gzip.compress(b"x" * (200 * MIB), 9), "bomb.gz", _with(max_ratio=500))
    assert caught.limit == "max_ratio"
    assert "500 times" in str(caught)


def test_zstd_bomb_names_the_ratio(refusal: Unpack) -> None:
    bomb = zstandard.ZstdCompressor(3).compress(b"x" * (256 * MIB))
    assert refusal(bomb, "bomb.tar.zst").limit == "max_ratio"


def test_zip_bomb_by_size(refusal: Unpack) -> None:
    bomb = zip_of(*((f"{i}.txt", bytes(8 * MIB)) for i in range(3)))
    caught = refusal(bomb, "bomb.zip", _with(max_unpacked_bytes=20 * MIB))
    assert caught.limit == "max_unpacked_bytes"
    assert "20 MiB" in str(caught)


def test_zip_whose_sizes_lie(refusal: Unpack) -> None:
    data = bytearray(zip_of(("a.txt", b"z" * 100_000)))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(signature) + offset
        data[at : at + 4] = struct.pack("<L", 10)
    assert "damaged" in str(refusal(bytes(data)))


def _with(**changes: int) -> Limits:
    values = {name: getattr(ROOMY, name) for name in Limits.__struct_fields__}
    return Limits(**{**values, **changes})


def _local(name: bytes, method: int, crc: int, packed: int, plain: int) -> bytes:
    fields = (20, 0, method, 0, 0, crc, packed, plain, len(name), 0)
    return b"PK\x03\x04" + struct.pack("<HHHHHLLLHH", *fields) + name


def _entry(name: bytes, method: int, crc: int, packed: int, plain: int, at: int) -> bytes:
    fields = (20, 20, 0, method, 0, 0, crc, packed, plain, len(name), 0, 0, 0, 0, 0, at)
    return b"PK\x01\x02" + struct.pack("<HHHHHHLLLHHHHHLL", *fields) + name


def _end(count: int, size: int, at: int) -> bytes:
    return b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, count, count, size, at, 0)


def test_zip_with_quoted_overlap(refusal: Unpack) -> None:
    plain = bytes(1 * MIB)
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    kernel = deflate.compress(plain) + deflate.flush()
    second = _local(b"B", 8, zlib.crc32(plain), len(kernel), len(plain))
    quote = b"\0" + struct.pack("<HH", len(second), 0xFFFF ^ len(second))
    whole = second + plain
    size = len(quote) + len(second) + len(kernel)
    first = _local(b"A", 8, zlib.crc32(whole), size, len(whole))
    body = first + quote + second + kernel
    directory = _entry(b"A", 8, zlib.crc32(whole), size, len(whole), 0) + _entry(
        b"B", 8, zlib.crc32(plain), len(kernel), len(plain), len(first) + len(quote)
    )
    bomb = body + directory + _end(2, len(directory), len(body))
    assert zipfile.ZipFile(io.BytesIO(bomb)).testzip() is None  # a valid zip for the library
    assert "overlap" in str(refusal(bomb))


def test_zip_with_a_million_members(refusal: Unpack) -> None:
    local = _local(b"a", 0, 0, 0, 0)
    directory = _entry(b"a", 0, 0, 0, 0, 0) * 1_000_000
    bomb = local + directory + _end(1, len(directory), len(local))  # it says that it holds one
    caught = refusal(bomb, "many.zip")
    assert caught.limit == "max_members"
    assert "100,000" in str(caught)


def test_tar_with_too_many_members(refusal: Unpack) -> None:
    header = tarfile.TarInfo("folder")
    header.type = tarfile.DIRTYPE
    few = replace(ROOMY, max_members=1000)
    caught = refusal(gzip.compress(header.tobuf() * 1001, 1), "many.tgz", few)
    assert caught.limit == "max_members"


def test_tar_header_that_claims_gigabytes(refusal: Unpack) -> None:
    """A long-name header is read whole into memory by readers that believe it."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 3 * 1024 * MIB
    data = info.tobuf(tarfile.GNU_FORMAT) + bytes(4 * MIB)
    assert "headers" in str(refusal(gzip.compress(data, 1), "long.tgz"))


def test_tar_headers_nested_without_end(refusal: Unpack) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 0
    refusal(info.tobuf(tarfile.GNU_FORMAT) * 5000, "nested.tar")


def test_xz_that_wants_gigabytes_of_memory(refusal: Unpack) -> None:
    import lzma

    filters = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 1024 * MIB}]
    try:
        data = lzma.compress(b"x" * 1000, filters=filters)
    except MemoryError:
        pytest.skip("no memory to make the archive")
    assert "damaged" in str(refusal(data, "wide.xz"))


@pytest.mark.parametrize("make", [lambda name: zip_of((name, b"x")), tar_of])
def test_over_long_names(refusal: Unpack, make: Callable[[str], bytes]) -> None:
    assert "255" in str(refusal(make("n" * 300)))


@pytest.mark.parametrize("make", [lambda name: zip_of((name, b"x")), tar_of])
def test_over_long_paths(refusal: Unpack, make: Callable[[str], bytes]) -> None:
    assert "1,024" in str(refusal(make("/".join(["directory"] * 120))))


def test_zip_name_with_nul(refusal: Unpack) -> None:
    data = zip_of(("aQb.txt", b"x")).replace(b"aQb.txt", b"a\0b.txt")
    assert "NUL" in str(refusal(data))


def test_tar_name_with_nul(refusal: Unpack) -> None:
    info = tarfile.TarInfo("x")
    info.pax_headers = {"path": "a\0b.txt"}
    assert "NUL" in str(refusal(tar_of(info, format=tarfile.PAX_FORMAT)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_duplicate_names(refusal: Unpack) -> None:
    assert "two members" in str(refusal(zip_of(("a/x", b"1"), ("a/x", b"2")), "twice.zip"))


def test_duplicate_names_in_disguise(refusal: Unpack) -> None:
    assert "two members" in str(refusal(tar_of("a/x", "./a//x")))


def test_file_below_a_file(refusal: Unpack) -> None:
    assert "two members" in str(refusal(tar_of("a", "a/x")))


def test_file_in_place_of_a_folder(refusal: Unpack) -> None:
    assert "two members" in str(refusal(tar_of("a/x", "a")))


def test_encrypted_zip(refusal: Unpack) -> None:
    data = bytearray(zip_of(("secret.txt", b"secret")))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(signature) + offset] |= 1
    assert "password" in str(refusal(bytes(data)))


def test_upload_that_is_too_large(refusal: Unpack) -> None:
    caught = refusal(b"x" * 2048, "big.log", _with(max_upload_bytes=1024))
    assert caught.limit == "max_upload_bytes"
    assert "INDUCTORSCOPE_MAX_UPLOAD_BYTES" in str(caught)


@pytest.mark.parametrize("link", ["file", "folder"])
def test_folder_with_a_link(tmp_path: Path, link: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "a.txt").write_text("a")
    target = tmp_path / "secret"
    if link == "folder":
        target.mkdir()
    else:
        target.write_text("secret")
    (folder / "link").symlink_to(target)
    with pytest.raises(Refused, match="symbolic link"):
        unpack(folder, tmp_path / "out", ROOMY)
    assert not (tmp_path / "out").exists()


def test_a_failure_of_the_disk_leaves_nothing_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.tar"
    source.write_bytes(tar_of("a", "b"))

    def full(number: int, *_: object) -> None:
        os.close(number)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("inductorscope.intake.writing.os.fdopen", full)
    with pytest.raises(OSError, match="No space"):
        unpack(source, tmp_path / "out", ROOMY)
    assert not (tmp_path / "out").exists()
