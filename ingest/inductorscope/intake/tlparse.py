"""Finds folders that tlparse wrote. Their files are made from a log, `raw.log`, which is there
too; without it nothing is read of them.

    -_0_1_0/dynamo_output_graph_12.txt      compiled autograd's id, frame, compile, attempt
    -_0_1_0/inductor_output_code_cu2x…z_23.html
"""

import re
from pathlib import Path

from inductorscope.formats.vocabulary import TLPARSE_ALONE, TLPARSE_PAGE, TRACE_LOG
from inductorscope.intake.files import File

# -_0_1_0, 0_1_0 in old versions, -_-_-_- for records without a compile
_COMPILE = re.compile(r"^(?:(?:-|\d{1,9})_){2,3}(?:-|\d{1,9})$")
_RECORD = re.compile(
    r"^(?:dynamo|aot|inductor|before|after|optimize_ddp|compiled_autograd|compilation_metrics"
    r"|fx_graph_runnable)_[^\n]{1,300}\.(?:txt|json|html|py|cpp)$"
)
_PAGES = frozenset({
    "index.html", "failures_and_restarts.html", "compile_directory.json", "chromium_events.json",
    "raw.jsonl", "provenance_tracking.html", "export.html", "runtime_estimations.json",
    "collective_schedules.json", "tensor_meta_fingerprint.json", "execution_order_report.json",
})  # fmt: skip
"""Files that tlparse makes from the whole log."""


def mark_tlparse(files: list[File]) -> None:
    """Gives the files of such folders their roles."""
    logged = {file.absolute.parent for file in files if file.role == TRACE_LOG}
    others = [file for file in files if file.role != TRACE_LOG]
    roots = {file.absolute.parents[1] for file in others if _is_record(file.absolute)}
    for file in others:
        path = file.absolute
        root = next((folder for folder in path.parents if folder in roots), None)
        if root is not None and (_COMPILE.match(path.parent.name) or _is_page(path, root)):
            file.role = TLPARSE_PAGE if root in logged else TLPARSE_ALONE


def _is_record(path: Path) -> bool:
    return bool(_COMPILE.match(path.parent.name) and _RECORD.match(path.name))


def _is_page(path: Path, root: Path) -> bool:
    return path.name in _PAGES or path.suffix == ".html" or path.parent == root / "payloads"
