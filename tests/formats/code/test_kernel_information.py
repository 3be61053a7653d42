"""What is noted of each kernel's call: stack frames and nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inductorscope.formats.code.kernel_information import (
    StackFrame,
    parse_kernel_information,
    parse_stack,
)
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.graph.provenance import parse_provenance
from inductorscope.formats.log.trace_log import read_trace_log

STACK = '  File "/a.py", line 9, in forward\n    x = f(y)\n  File "/b.py", line 3, in f\n'


def test_stacks_as_python_prints_them() -> None:
    frames = [StackFrame("/a.py", 9, "forward", "x = f(y)"), StackFrame("/b.py", 3, "f")]
    assert parse_stack(STACK) == frames
    assert parse_stack(STACK.replace("\n", "\\n").replace('"', '\\"')) == frames
    assert parse_stack('File "C:\\new\\m.py", line 1\n    ^^^~\n') == [
        StackFrame("C:\\new\\m.py", 1)
    ]
    assert parse_stack("nothing") == []


def test_information_that_aotinductor_packs(fixtures: Path) -> None:
    data = (fixtures / "output-code" / "cpu-aoti.kernel_information.json").read_bytes()
    read = parse_kernel_information(data)
    assert not read.problems
    assert len(read.kernels) == len(json.loads(data)) == 11
    first = read.kernels[0]
    assert (first.kernel, first.handle) == ("aoti_torch_cpu_addmm_out", 1)
    assert (first.post_grad_nodes, first.pre_grad_nodes) == (["addmm"], ["linear"])
    assert [frame.function for frame in first.frames()] == ["forward", "forward"]
    assert first.frames()[0].file == "/home/user/models/programs.py"
    assert first.frames()[1].code == "return F.linear(input, self.weight, self.bias)"
    provenance = parse_provenance(data)
    assert provenance.kernel_to_post["aoti_torch_cpu_addmm_out", 1] == ["addmm"]
    assert provenance.kernel_to_pre["aoti_torch_cpu_addmm_out", 1] == ["linear"]


def test_stacks_of_every_log(shared: Path) -> None:
    """Every frame that the text holds is read, and every kernel is one that the code calls."""
    read = 0
    handled = shared / "traces" / "logs" / "inductor_provenance_jit_debug_handle_log.txt"
    for log in [*sorted((shared / "traces").rglob("*log*.log")), handled]:
        if log.parent.name == "torchinductor":
            continue
        called: set[tuple[str, int | None]] = set()
        with log.open("rb") as file:
            for record in read_trace_log(file):
                text = record.payload_text or ""
                if record.kind == "inductor_output_code":
                    called |= {(call.kernel, call.handle) for call in parse_output_code(text).calls}
                if record.name != "inductor_provenance_tracking_kernel_stack_traces":
                    continue
                read += 1
                found = parse_kernel_information(text.encode())
                assert not found.problems
                frames = sum(len(stack) for kernel in found.kernels for stack in kernel.stacks)
                assert frames == text.count('File \\"')
                assert {(kernel.kernel, kernel.handle) for kernel in found.kernels} <= called
    assert read > 10


def test_nonsense_is_a_problem() -> None:
    assert parse_kernel_information(b"[]").problems
    assert parse_kernel_information(b"{").problems
    assert parse_kernel_information(b'{"k": 3}').problems
    assert parse_kernel_information(b'{"k": ["neg"]}').problems
    assert not parse_kernel_information(b'{"version": 2.0}').kernels


@given(data=st.binary(max_size=200), text=st.text(max_size=200))
@settings(max_examples=100, deadline=None)
def test_anything_is_read(data: bytes, text: str) -> None:
    parse_kernel_information(data)
    parse_kernel_information(json.dumps({text: [text, 1], "k:1": {"stack_traces": text}}).encode())
    parse_stack(text)


@pytest.mark.parametrize("text", ['File "' * 50_000, "  " * 50_000, STACK * 5_000, "\\n" * 50_000])
def test_long_stacks_are_read(text: str) -> None:
    assert len(parse_stack(text)) == 10_000 * (text == STACK * 5_000)
