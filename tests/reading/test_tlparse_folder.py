"""Folders that tlparse wrote of a log give the graphs of the log, each once."""

from pathlib import Path

import pytest
from inductorscope.formats.log.tlparse_folder import FolderFile, file_of, plain_code
from inductorscope.formats.vocabulary import TLPARSE_RECORD
from inductorscope.intake.files import File
from inductorscope.intake.limits import Limits
from inductorscope.intake.tlparse import mark_tlparse
from inductorscope.intake.unpack import unpack

from tests.support.readings import SharedRuns


def test_a_folder_gives_what_its_log_gives(
    fixtures: Path, shared_runs: SharedRuns, tmp_path: Path
) -> None:
    folder = tmp_path / "folder"
    unpack(
        fixtures / "tlparse-folder" / "dynamic.tar.xz", folder, Limits.of(shared_runs.db.settings)
    )
    db = shared_runs.db
    mine, log = shared_runs.of(folder), shared_runs.of(fixtures / "dynamic")
    for ours, theirs in zip(db.graphs(mine), db.graphs(log), strict=True):
        assert (ours.slug, ours.compile_id) == (theirs.slug, theirs.compile_id)
        known, expected = db.texts(ours), db.texts(theirs)
        assert known.keys() == expected.keys()
        for role, text in known.items():
            if role not in ("kernel_compiles", "kernel_stacks", "provenance"):  # written anew
                assert text.strip() == expected[role].strip(), role
    one, other = db.run(mine), db.run(log)
    assert (one.graph_breaks, one.recompiles) == (other.graph_breaks, other.recompiles)


@pytest.mark.parametrize(
    ("folder", "file", "expected"),
    [
        ("-_0_1_0", "dynamo_output_graph_12.txt",
         FolderFile("0/1", 0, "dynamo_output_graph", None, 12, False)),
        ("0_1_2", "aot_forward_graph.txt",
         FolderFile("0/1", 2, "aot_forward_graph", None, 0, False)),
        ("2_0_1_0", f"inductor_output_code_c{'a' * 51}_3.html",
         FolderFile("!2/0/1", 0, "inductor_output_code", None, 3, True)),
        ("-_-_-_-", "f_ORIGINAL_BYTECODE_4.txt",
         FolderFile(None, None, "artifact", "f_ORIGINAL_BYTECODE", 4, False)),
        ("-_0_0_0", "compilation_metrics_9.html", None),
        ("src", "aot_forward_graph.txt", None),
    ],
)  # fmt: skip
def test_names_of_files(folder: str, file: str, expected: FolderFile | None) -> None:
    assert file_of(folder, file) == expected


def test_code_in_colours_is_code() -> None:
    page = b'<pre style="a">\n<span style="b">x </span><span>= &#39;&lt;a&gt;&#39;\n</span></pre>\n'
    assert plain_code(page) == b"x = '<a>'\n"
    assert plain_code(b"x = 1\n") == b"x = 1\n"


def test_many_folders_are_looked_through_once() -> None:
    """Each file once for each folder would take hours."""
    paths = [f"/{number}/0_0_0/dynamo_output_graph_1.txt" for number in range(20_000)]
    files = [File(path, "", 1, Path(path), "") for path in paths]
    mark_tlparse(files)
    assert {file.role for file in files} == {TLPARSE_RECORD}
