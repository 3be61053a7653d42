"""Lines that the C++ back end writes anew still know who wrote them first."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from inductorscope.capturing.run import run_capture
from inductorscope.capturing.spec import CaptureSpec
from inductorscope.settings import Settings

from tests.conftest import VECTORS

pytestmark = pytest.mark.torch

SUBJECTS = Path(__file__).with_name("subjects.py")
DEFINED = re.compile(r"auto (tmp\d+) = (.*);")


@pytest.fixture(scope="module")
def recorded(
    tmp_path_factory: pytest.TempPathFactory, cache: Path
) -> dict[str, tuple[list[str], Any]]:
    """Graph → its code and the record of it, of a model with scalar remainders of loops."""
    out = tmp_path_factory.mktemp("tails")
    spec = CaptureSpec(
        model=f"{SUBJECTS}:with_remainders", repeats=1, profile=False, source=False,
        eager=False,
        config={"cpp.simdlen": "256", "cpp.enable_loop_tail_vec": "False"},
    )  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VECTORS, "1")
        run_capture(spec, out, Settings(data=out, database_url=""), trusted=True, cache=cache)
    record = json.loads((out / "line_record.json").read_bytes())["graphs"]
    return {
        file.parent.name: (file.read_text().split("\n"), record[file.parent.name]["lines"])
        for file in out.glob("torch_compile_debug/*/torchinductor/*/output_code.py")
    }


def test_scalar_remainders_belong_to_the_operations_of_the_loop(recorded: Any) -> None:
    seen = set()
    for code, lines in recorded.values():
        start = next(n for n, line in enumerate(code) if "_tail" in line)
        for number, line in enumerate(code, 1):
            found = DEFINED.search(line)
            if number > start and found and "std::sin" in found[2]:
                seen.add("sin")
                assert [entry[0] for entry in lines[str(number)]] == ["sin"], line
            if number > start and found and "_tail" in line and "_ptr" in line:
                seen.add("load")
                assert lines[str(number)][0][0].startswith("load"), line
    assert seen == {"sin", "load"}


def test_declarations_of_accumulators_belong_to_their_own_reduction(recorded: Any) -> None:
    declared: dict[str, list[str]] = {}
    for code, lines in recorded.values():
        for number, line in enumerate(code, 1):
            if re.match(r"\s+(?:float|at::vec::\S+|Welford\S*) tmp_acc\d+\w*( =|\[)", line):
                (entry,) = lines[str(number)]
                assert entry[0] == "reduction", line
                declared.setdefault(entry[2], []).append(line)
    assert {"amax", "sum_1"} <= set(declared)
    assert all("infinity" in line for line in declared["amax"] if " = " in line)
    assert all("infinity" not in line for line in declared["sum_1"])
