"""Every kind of input becomes what docs/reading.md says: read, partly, or refused with advice."""

import runpy
from pathlib import Path

import pytest
from inductorscope.formats.vocabulary import CHROME_TRACE, KEY_AVERAGES
from inductorscope.intake.limits import Limits
from inductorscope.intake.unpack import unpack
from inductorscope.reading.run import NothingToRead

from tests.support.inputs import INPUTS, Input
from tests.support.places import FIXTURES, ROOT
from tests.support.readings import SharedRuns


def test_the_page_is_that_of_the_list() -> None:
    namespace = runpy.run_path(str(ROOT / "docs" / "write_tables.py"))
    page = (ROOT / "docs" / "reading.md").read_text()
    assert namespace["written"](page, namespace["input_tables"]()) == page, "run `make docs`"


@pytest.mark.parametrize("given", INPUTS, ids=lambda given: given.kind)
def test_an_input(given: Input, shared_runs: SharedRuns, tmp_path: Path) -> None:
    sample = FIXTURES / given.sample
    if sample.name.endswith((".zip", ".tar.xz")):
        unpack(sample, tmp_path / "unpacked", Limits.of(shared_runs.db.settings))
        sample = tmp_path / "unpacked"
    elif given.instead:
        sample = tmp_path / "code.py"
        sample.write_text(given.text((FIXTURES / given.sample).read_text()))
    if given.result == "refused":
        with pytest.raises(NothingToRead) as refused:
            shared_runs.of(sample)
        assert given.says
        assert given.says in str(refused.value)
        return
    result = shared_runs.of(sample)
    run = shared_runs.db.run(result)
    traces = [file for file in run.report.files if file.role in (CHROME_TRACE, KEY_AVERAGES)]
    assert (result.graphs, result.kernels) == (given.graphs, given.kernels)
    assert (len(traces) > 0) == given.profile
    if given.breaks is not None:
        assert run.graph_breaks == given.breaks
    if given.recompiles is not None:
        assert run.recompiles == given.recompiles
    report = run.report
    said = [note.reason for note in report.dropped if note.kind == "dropped"]
    became = [file.became or "" for file in report.files]
    if given.result == "partly":
        assert given.says
    elif given.result == "read":
        assert not any("not recognised" in text for text in became), became
    assert given.says in "\n".join([*said, *became])
