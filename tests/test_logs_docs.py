"""The tables of record kinds in the docs are those of the code, and know the kinds of real logs."""

import lzma
import re
import runpy
import tarfile
from pathlib import Path
from typing import BinaryIO

import pytest
from inductorscope.formats.log.kinds import ENDINGS, KEPT, NAMED
from inductorscope.formats.log.trace_log import read_trace_log

TABLE = Path(__file__).resolve().parent.parent / "docs" / "logs.md"


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    """Kind or name of an artifact → where it appears."""
    tables = TABLE.read_text().partition("## Compared with tlparse")[0]
    rows = re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([^|]+) \|$", tables, re.M)
    return dict(rows)


def missing(stream: BinaryIO, told: dict[str, str]) -> set[str]:
    names = set()
    for record in read_trace_log(stream):
        names.add(record.kind)
        if record.kind in NAMED and record.name:
            names.add(record.name)
    return {
        name
        for name in names
        if name not in told and not name.endswith(tuple(kind.name for kind in ENDINGS))
    }


def test_the_tables_are_those_of_the_code() -> None:
    namespace = runpy.run_path(str(TABLE.parent / "write_tables.py"))
    page = TABLE.read_text()
    assert namespace["written"](page, namespace["tables"]()) == page, "run `make docs`"


def test_every_kind_of_real_logs_is_in_the_table(shared: Path, told: dict[str, str]) -> None:
    logs = [
        *sorted((shared / "traces").glob("*/torch_trace/*.log")),
        *sorted((shared / "traces" / "logs").rglob("*.log")),
        *sorted((shared / "traces" / "logs").glob("*_log*.txt")),
    ]
    assert len(logs) > 15
    for log in logs:
        with log.open("rb") as stream:
            assert not missing(stream, told), log


def test_every_kind_of_the_largest_log_is_in_the_table(shared: Path, told: dict[str, str]) -> None:
    with (
        lzma.open(shared / "traces" / "cuda-mixnet-train.tar.xz") as packed,
        tarfile.open(fileobj=packed) as archive,
    ):
        for member in archive:
            if "torch_trace" in member.name and member.name.endswith(".log"):
                stream = archive.extractfile(member)
                assert stream is not None
                assert not missing(stream, told)  # type: ignore[arg-type]  # reads like a file
                return
    pytest.fail("the archive holds no log")


def test_examples_of_torch_2_14_are_from_a_log(fixtures: Path) -> None:
    """Each kind that the log has, with one of its lines."""
    with (fixtures / "kinds-of-2.14.log").open("rb") as stream:
        payloads = {record.name: record.payload for record in read_trace_log(stream)}
    section = TABLE.read_text().partition("## Examples of torch 2.14")[2].partition("\n## ")[0]
    told = dict(re.findall(r"^\| `([^`]+)` \| `(.+)` \|$", section, re.M))
    assert told.keys() == payloads.keys()
    for name, line in told.items():
        assert line.rstrip("…") in (payloads[name] or b"").decode(), name


def test_each_kind_that_is_kept_as_logged_has_an_example_or_a_reason(told: dict[str, str]) -> None:
    kept = {name for name, appears in told.items() if appears in (KEPT, f"{KEPT}; Ranks")}
    section = TABLE.read_text().partition("## Examples of torch 2.14")[2].partition("\n## ")[0]
    examples, _, reasons = section.partition("why there is no example")
    names = set(re.findall(r"^\| `([^`]+)` \|", examples, re.M))
    shown = {end for end in kept if any(name.endswith(end.removeprefix("…")) for name in names)}
    without = re.findall(r"^\| `([^`]+)` \| \w.+\. \|$", reasons, re.M)
    assert sorted(kept - shown) == sorted(without)
