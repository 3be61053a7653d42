"""Messages of TORCH_LOGS texts become the records that TORCH_TRACE writes of them."""

import gzip
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from inductorscope.formats.log import text_log
from inductorscope.formats.log.graph_breaks import read_graph_break
from inductorscope.formats.log.guard_failures import read_guard_failures
from inductorscope.formats.log.record import LogRecord
from inductorscope.formats.log.segments import Limits
from inductorscope.formats.log.text_log import TextLog
from inductorscope.formats.log.torch_logs import TorchLogs
from inductorscope.intake.recognise import recognise
from inductorscope.intake.sniff import role_of

from tests.support.readings import Database, database

LINE = re.compile(
    r"^([VI])\d{4} (\S+) (\d+) (\S+?)\.py:\d+\](?: \[(\S+)\])?(?: \[__(\w+)\])? ?", re.M
)


@pytest.fixture(scope="module")
def mix(fixtures: Path) -> str:
    return gzip.decompress((fixtures / "torch-logs-mixed" / "mix.log.gz").read_bytes()).decode()


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    made = database(tmp_path / "data")
    yield made
    made.close()


def read(text: str) -> list[LogRecord]:
    return list(TextLog(io.BytesIO(text.encode())))


def what(records: list[LogRecord]) -> Counter[str]:
    return Counter(record.name or record.kind for record in records)


def seen(records: list[LogRecord]) -> list[tuple[object, ...]]:
    return [
        (record.kind, record.name, record.compile_id, record.attempt, record.payload)
        for record in records
    ]


def each_line(before: str) -> Callable[[str], str]:
    return lambda text: re.sub("^", before, text, flags=re.M)


WAYS: dict[str, Callable[[str], str]] = {
    "GitHub": each_line("2026-11-22T23:55:01.6730000Z "),
    "torchrun": each_line("[default0]:"),
    "a rank": lambda text: re.sub(r"^([VI]\d{4} )", r"[rank0]:\1", text, flags=re.M),
    "vLLM": each_line("(EngineCore_0 pid=4711) "),
    "pytest": lambda text: "----- Captured stderr call -----\n" + text,
    "Windows": lambda text: text.replace("\n", "\r\n"),
    "colours": lambda text: LINE.sub(lambda match: f"\x1b[32m{match.group()}\x1b[0m", text),
}


def test_every_message_becomes_its_record(mix: str) -> None:
    records = read(mix)
    topics = Counter(re.findall(r"\[__(\w+)\] (?:Output code: |TRACED GRAPH)$", mix, re.M))
    assert topics == {"graph_code": 5, "aot_graphs": 10, "post_grad_graphs": 10, "output_code": 10}
    assert what(records) == {
        "dynamo_start": 5,
        "dynamo_output_graph": 5,
        "aot_forward_graph": 5,
        "aot_backward_graph": 5,
        "inductor_post_grad_graph": 10,
        "inductor_output_code": 10,
        "dynamo_graph_break_reason": 3,
        "recompile_reasons": 3,
        "dynamo_cpp_guards_str": 5,
        "forward_ORIGINAL_BYTECODE": 3,
        "forward_MODIFIED_BYTECODE": 3,
        "torch_dynamo_resume_in_forward_at_8_ORIGINAL_BYTECODE": 2,
        "torch_dynamo_resume_in_forward_at_8_MODIFIED_BYTECODE": 2,
    }
    code = next(record for record in records if record.kind == "inductor_output_code")
    assert code.payload_text.startswith("# AOT ID: ['0_forward']\n")
    assert (code.compile_id, code.attempt) == ("0/0", 1)
    (failure,) = read_guard_failures(
        next(record for record in records if record.name == "recompile_reasons").payload_text
    )[:1]
    assert (failure.earlier, failure.subject, failure.old) == ("0/0", "n", "2")
    graph = next(record for record in records if record.kind == "dynamo_output_graph")
    assert graph.payload_text.startswith("class GraphModule(torch.nn.Module):\n    def forward(")


@pytest.mark.parametrize("way", WAYS)
def test_whatever_stands_before_the_lines(mix: str, way: str) -> None:
    text = WAYS[way](mix)
    assert role_of("output.txt", text[: 64 * 1024].encode()) == "torch_logs"
    assert seen(read(text)) == seen(read(mix))


def test_lines_of_several_ranks_interleave(mix: str) -> None:
    lines = [line for line in mix.split("\n") if LINE.match(line)]
    both = "\n".join(f"[rank{rank}]:{line}" for line in lines for rank in (0, 1))
    log = TorchLogs()
    for line in both.split("\n"):
        log.add(line)
    assert [rank for rank, _ in log.processes] == [0, 1]
    for process in log.processes:
        records = list(TextLog(io.BytesIO(both.encode()), process))
        assert seen(records) == seen(read("\n".join(lines)))
        assert {record.rank for record in records} == {process[0]}


def test_two_ranks_are_two_processes_of_a_run(mix: str, db: Database, tmp_path: Path) -> None:
    lines = [line for line in mix.split("\n") if LINE.match(line)]
    file = tmp_path / "stderr.txt"
    file.write_text("\n".join(f"[rank{rank}]:{line}" for line in lines for rank in (0, 1)))
    result = db.read(file)
    assert (result.graphs, result.kernels) == (20, 26)
    assert {entry.rank for entry in db.entries(result)} == {0, 1}
    run = db.run(result)
    assert (run.graph_breaks, run.recompiles) == (6, 6)


def test_every_message_that_is_too_long_is_counted(
    mix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_log, "LIMITS", Limits(payload=1000))
    log = TextLog(io.BytesIO(mix.encode()))
    assert len(list(log)) > 1
    (dropped,) = (problem for problem in log.dropped.values() if "read in part" in problem.reason)
    assert dropped.count > 1


def test_a_head_that_goes_on_after_many_spaces_is_none() -> None:
    place = "V1121 11:13:16.660000 13776 torch/_dynamo/x.py:2722] [0/0] [__bytecode] "
    assert read(f"{place}ORIGINAL BYTECODE f /a.py line 5 {' ' * 3000}and on\n") == []


def test_a_log_that_starts_late_is_recognised(mix: str, tmp_path: Path) -> None:
    (tmp_path / "ci.txt").write_text("Collecting torch\n" * 100_000 + mix)
    assert [file.role for file in recognise(tmp_path / "ci.txt").files] == ["torch_logs"]


@pytest.mark.parametrize(
    "text",
    [
        'Graph break: from user code at:\n  File "/a/b.py", line 5, in f\n    x = g(x)\n'
        "Traceback (most recent call last):\n"
        '  File "/torch/_dynamo/symbolic_convert.py", line 1, in step\n    getattr(self)\n'
        "torch._dynamo.exc.Unsupported: call_function print\n",
        'Graph break: call_function print from user code at   File "/a/b.py", line 5, in f\n'
        "    x = g(x)\n",
    ],
)
def test_graph_breaks_of_old_versions(text: str) -> None:
    read = read_graph_break(text)
    assert (read.title, read.file, read.line) == ("call_function print", "/a/b.py", 5)
    assert [(frame.function, frame.code) for frame in read.stack] == [("f", "x = g(x)")]
