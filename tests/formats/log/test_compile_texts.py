"""What torch writes about breaks, recompiles, guards, phases, caches and sizes, read back."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.log.cache_records import read_cache_answer
from inductorscope.formats.log.cuda_graphs import skip_reason, skip_reasons
from inductorscope.formats.log.graph_breaks import plain_reason, read_graph_break
from inductorscope.formats.log.guard_failures import (
    in_words,
    read_guard_failures,
    source_as_written,
)
from inductorscope.formats.log.guard_tree import read_guard_tree
from inductorscope.formats.log.phase_events import PhaseEvents
from inductorscope.formats.log.record import LogRecord
from inductorscope.formats.log.shape_records import read_shape_record, tensor_in_short
from inductorscope.formats.log.trace_log import read_trace_log

OLD_BREAK = """Graph break in user code at /home/user/old.py:7
Reason: Unsupported: call_function BuiltinVariable(print) [ConstantVariable(str)] {}
User code traceback:
  File "/home/user/old.py", line 20, in <module>
    run()
  File "/home/user/old.py", line 7, in run
    print("here")

Traceback (most recent call last):
"""


@pytest.fixture(scope="module")
def records(fixtures: Path) -> list[LogRecord]:
    (log,) = (fixtures / "dynamic" / "torch_trace").iterdir()
    with gzip.open(log) as stream:
        return list(read_trace_log(stream))  # type: ignore[arg-type]  # reads like a file


def named(records: list[LogRecord], name: str) -> list[LogRecord]:
    return [record for record in records if name in (record.name, record.kind)]


def test_a_graph_break_is_told_in_parts(records: list[LogRecord]) -> None:
    texts = [read_graph_break(record.payload_text) for record in
             named(records, "dynamo_graph_break_reason")]  # fmt: skip
    assert [(text.line, text.title) for text in texts] == [
        (113, "Failed to trace builtin operator"),
        (114, "Data-dependent branching"),
    ] * 2
    first = texts[0]
    assert first.file == "/home/user/models/models.py"
    assert first.explanation.startswith(
        "Dynamo does not know how to trace builtin operator `print`"
    )
    assert len(first.hints) == 3
    assert first.instruction == "attempting to trace CALL: a function call, e.g. f(x, y)"
    assert first.link == "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0059.html"
    assert [frame.line for frame in first.stack] == [40, 31, 121, 113]
    assert first.stack[-1].code == 'print("graph break")'
    assert texts[1].context == "attempted to jump with TensorVariable()"


def test_a_graph_break_of_an_older_build() -> None:
    text = read_graph_break(OLD_BREAK)
    assert (text.file, text.line) == ("/home/user/old.py", 7)
    assert text.title.startswith("Unsupported: call_function")
    assert [frame.function for frame in text.stack] == ["<module>", "run"]
    assert text.hints == []


@pytest.mark.parametrize(
    ("reason", "plain"),
    [
        ("builtin: print [<class 'torch._dynamo.variables.constant.ConstantVariable'>] False",
         "builtin `print`"),
        ("Unsupported: call_function BuiltinVariable(print) [ConstantVariable(str)] {}",
         "builtin `print`"),
        ("call_method TensorVariable() item () {}", "`Tensor.item`"),
        ("call_method UserDefinedObjectVariable(Pool) get [] {}", "method `get`"),
        ("Tensor.item", "`Tensor.item`"),
        ("call_function UserDefinedClassVariable(<class 'x.Y'>) [] {}", "function `x.Y`"),
        ("inline in skipfiles: Thread.start | start /usr/lib/python3.11/threading.py",
         "skipped function `start`"),
        ("'skip function graph_break in file /site-packages/torch/_dynamo/decorators.py'",
         "skipped function `graph_break`"),
        ("call torch._dynamo.disable() wrapped function <function g at 0x7f0>",
         "function `g`, which torch._dynamo.disable marks"),
        ("generic_jump TensorVariable()", "branch that depends on a tensor"),
        ("dynamic shape operator: aten.nonzero.default",
         "dynamic shape operator `aten.nonzero.default`"),
        ("Data-dependent branching", "Data-dependent branching"),
    ],
)  # fmt: skip
def test_reasons_of_older_builds_lose_types_and_addresses(reason: str, plain: str) -> None:
    assert plain_reason(reason) == plain


def test_a_reason_for_no_cuda_graph_has_one_line_and_its_place() -> None:
    found_from = """. Found from : \n   File "/home/user/train.py", line 3, in step\n     y = f(x)
   File "/home/user/models.py", line 65, in forward\n     y = y * self.scale\n    """
    twice = "skipping cudagraphs due to skipping cudagraphs due to cpu device (arg1_1)" + found_from
    assert skip_reason(twice) == "cpu device (arg1_1), at models.py:65"
    assert skip_reason("incompatible op aten.nonzero") == "incompatible op aten.nonzero"
    log = f"W0 [0/0] {twice}\nW0 [1/0] skipping cudagraphs due to mutated inputs (1 instances)\n"
    assert skip_reasons(log * 2) == [
        "cpu device (arg1_1), at models.py:65", "mutated inputs (1 instances)",
    ]  # fmt: skip


def test_without_a_place_the_last_frame_is_it() -> None:
    text = read_graph_break(OLD_BREAK.split("\n", 1)[1])
    assert (text.file, text.line) == ("/home/user/old.py", 7)


@pytest.mark.parametrize(
    ("line", "subject", "old", "new"),
    [
        ("tensor 'x' size mismatch at index 0. expected 4, actual 9", "x.size(0)", "4", "9"),
        ("tensor 'w' stride mismatch at index 1. expected 1, actual 8", "w.stride(1)", "1", "8"),
        ("tensor 'x' dtype mismatch. expected Float, actual Double", "dtype of x", "Float",
         "Double"),
        ("tensor 'x' requires_grad mismatch. expected requires_grad=0", "requires_grad of x", "0",
         None),
        ("tensor 'self.a.bias' requires_grad mismatch. expected requires_grad=0. Guard failed on a "
         "parameter, consider using", "requires_grad of self.a.bias", "0", None),
        ("L['flag'] == 1   # return y * flag  # models.py:116 in f", "flag", "1", None),
        ("len(L['args']) == 2", "len(args)", "2", None),
        ("___tuple_iterator_len(L['it']) == 2", "len(it)", "2", None),
        ("not ___dict_contains('k', L['d'])", "'k' in d", None, None),
        ("L['x'].size()[0] == 4", "x.size(0)", "4", None),
        ("___check_obj_id(G['f'], 1234)", "G['f']", None, None),
            ("GLOBAL_STATE changed: grad_mode ", "grad_mode", None, None),
            ("x is y", "x is y", None, None),
            ("len(d) != 2", "len(d)", "2", None),
            ("2 <= L['x'].size()[0] <= 8", "x.size(0)", None, None),
    ],
)  # fmt: skip
def test_a_guard_that_failed(line: str, subject: str, old: str | None, new: str | None) -> None:
    (failure,) = read_guard_failures(f"0/0: {line}")
    assert (failure.subject, failure.old, failure.new) == (subject, old, new)
    assert failure.earlier == "0/0"


def test_failures_come_as_lines_or_as_a_list() -> None:
    lines = ["0/1: L['n'] == 3", "0/0: L['n'] == 2"]
    both = [read_guard_failures("\n".join(lines)), read_guard_failures(json.dumps(lines, indent=0))]
    assert both[0] == both[1]
    assert [failure.earlier for failure in both[0]] == ["0/1", "0/0"]


def test_places_of_guards_are_taken_off() -> None:
    (failure,) = read_guard_failures("1/0: L['flag'] == 1   # return y * flag  # m.py:116 in f")
    assert (failure.code, failure.place) == ("return y * flag", "m.py:116 in f")
    assert failure.text == "L['flag'] == 1"


def test_sources_are_spoken_as_the_program_writes_them() -> None:
    assert source_as_written("L['x'].size()[0]") == "x.size(0)"
    assert source_as_written("L['self'].weight") == "self.weight"
    assert source_as_written("G['torch'].sin") == "G['torch'].sin"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("G['EPOCH']", "EPOCH"),
        ("G['__builtins_dict___0']['len']", "len"),
        ("G['__import_torch_dot_nn_dot_functional'].relu", "torch.nn.functional.relu"),
        ("L['self']._modules['layers']._modules['0']._parameters['weight']",
         "self.layers[0].weight"),
        ("___normalize_range_iter(L['r'])", "r"),
        ("___odict_getitem(L['d'], 'k')", "d['k']"),
        ("___from_numpy(L['x']).size()[0]", "x.size(0)"),
        ("___normalize_range_iter(___stack0)", "what an uncompiled call returned"),
        ("___get_torch_function_mode_stack_at(0)", "what an uncompiled call returned"),
    ],
)  # fmt: skip
def test_no_name_of_torchs_own_reaches_a_person(source: str, words: str) -> None:
    assert in_words(source) == words


def test_the_stack_after_a_guard_is_taken_off() -> None:
    line = (
        "s.n == 8      # return s.b(x * s.n)  # mp/train.py:6 in forward (HINT: torch.compile "
        "considers integer attributes of the nn.Module to be static.)\nUser stack trace:\n"
        '  File "/tmp/train.py", line 6, in forward\n    return s.b(x * s.n)'
    )
    read = read_guard_failures(json.dumps([f"0/1: {line}", f"0/0: {line}"]))
    assert [(failure.earlier, failure.subject, failure.old, failure.place) for failure in read] == [
        ("0/1", "s.n", "8", "mp/train.py:6 in forward"),
        ("0/0", "s.n", "8", "mp/train.py:6 in forward"),
    ]


def test_guards_are_a_tree(records: list[LogRecord]) -> None:
    trees = [read_guard_tree(record.payload_text) for record in
             named(records, "dynamo_cpp_guards_str")]  # fmt: skip
    assert [tree.guards for tree in trees] == [9, 6, 7, 12, 8, 9]
    first = trees[0]
    assert first.latency_us == 26.16
    tensor = next(node for node in first.nodes if node.kind == "TENSOR_MATCH")
    assert tensor.depth == 2
    assert tensor.text.endswith("size=[4, 8], stride=[8, 1])")
    assert tensor.code == "y = torch.sin(x) + x.shape[0]"
    assert (tensor.place or "").endswith("models.py:112 in f")
    above = first.nodes[first.nodes.index(tensor) - 1]
    assert (above.kind, above.source, above.type) == ("manager", "L['x']", "torch.Tensor")


def event(name: str, ph: str, ts: float, **args: object) -> bytes:
    return json.dumps({"name": name, "ph": ph, "ts": ts, "args": args}).encode()


def test_phases_nest_and_tell_their_own_time() -> None:
    phases = PhaseEvents(lambda compile_id: 5 if compile_id == "0/0" else -1)
    for line, payload in enumerate([
        event("dynamo", "B", 100), event("inner", "B", 110), event("inner", "E", 140),
        event("dynamo", "E", 200),
    ]):  # fmt: skip
        phases.add(payload, "0/0", 0, 7, line)
    phases.finish()
    told = [(span.name, span.duration_us, span.self_us, span.depth) for span in phases.spans]
    assert told == [("inner", 30, 30, 1), ("dynamo", 100, 70, 0)]
    assert {span.owner for span in phases.spans} == {5}
    assert not phases.unread


def test_phases_of_threads_may_cross_and_belong_to_what_runs() -> None:
    phases = PhaseEvents(lambda compile_id: 1 if compile_id == "0/0" else -1)
    for payload, compile_id in [
        (event("wait", "B", 0), "0/0"), (event("compile_file", "B", 5), None),
        (event("wait", "E", 20), "0/0"), (event("compile_file", "E", 30), None),
    ]:  # fmt: skip
        phases.add(payload, compile_id, 0, 7, 1)
    assert [
        (span.name, span.duration_us, span.self_us, span.owner, span.beside)
        for span in phases.spans
    ] == [("wait", 20, 20, 1, False), ("compile_file", 25, 25, 1, True)]


def test_what_is_wrong_with_phases_is_counted() -> None:
    phases = PhaseEvents()
    for payload in (
        b"{", event("late", "E", 1), event("never", "B", 5), event("back", "B", 9),
        event("back", "E", 3), event("when", "B", -1),
    ):  # fmt: skip
        phases.add(payload, None, None, 1, 1)
    phases.finish()
    assert not phases.spans
    assert sum(phases.unread.values()) == 5
    assert phases.unread["phase never without an end"] == 1


def test_json_that_is_not_strict_is_read_too() -> None:
    phases = PhaseEvents()
    for ph, ts in (("B", 1), ("E", 4)):
        text = f'{{"name": "a\tb", "ph": "{ph}", "ts": {ts}, "args": {{}}}}'
        phases.add(text.encode(), None, None, 1, 1)
    assert [(span.name, span.duration_us) for span in phases.spans] == [("a\tb", 3)]


def test_caches_answer() -> None:
    hit = read_cache_answer("fx_graph_cache_hit", b'{"key": "fabc", "time_saved_ns": 4000000}')
    assert hit is not None
    assert (hit.cache, hit.outcome, hit.key, hit.saved_ms) == ("FX graph", "hit", "fabc", 4.0)
    bypass = read_cache_answer("aotautograd_cache_bypass", b'{"cache_bypass_reason": "a\\n b"}')
    assert bypass is not None
    assert (bypass.cache, bypass.reason) == ("AOTAutograd", "a b")
    assert read_cache_answer("aotautograd_cache_hash", b"{}") is None
    damaged = read_cache_answer("fx_graph_cache_miss", b"{")
    assert damaged is not None
    assert damaged.outcome == "miss"


def test_symbols_are_told(records: list[LogRecord]) -> None:
    told = [read_shape_record(record) for record in named(records, "create_symbol")]
    assert [(symbol.symbol, symbol.val, symbol.source) for symbol in told[:1]] == [
        ("s77", "9", "L['x'].size()[0]")
    ]
    assert told[0].user_frames[-1]["loc"] == "y = torch.sin(x) + x.shape[0]"


def test_tensors_in_short_leave_out_what_ranks_never_share() -> None:
    body = '"ndim": 1, "dtype": "torch.float32", "device": "device(type=\'cuda\')", "size": [4]'
    one = tensor_in_short(f'{{"describe_tensor": {{"id": 0, {body}}}, "rank": 0}}'.encode())
    other = tensor_in_short(f'{{"describe_tensor": {{"id": 9, {body}}}, "rank": 1}}'.encode())
    assert one == other != ""
    assert tensor_in_short(b"{") == ""


# --- hostile texts ---

TEXTS = st.one_of(
    st.text(),
    st.lists(
        st.sampled_from([
            "Graph break in user code at a.py:3", "Reason: x", "User code traceback:", "",
            '  File "a.py", line 3, in f', "    code()", "  Hint: a", "  Explanation: b", "| +- X",
            "0/0: tensor 'x' size mismatch at index 0. expected 4, actual 9",
            "0/0: len(L['a']) == 2",
            "+- RootGuardManager",
            "| +- GuardManager: source=L['x'], accessed_by=Y, type=<class 'a'>",
            "| | +- EQUALS_MATCH: L['x'] == 1   # c  # a.py:3 in f",
            "Guard latency = 1.5 us", "[", '["',
        ])
    ).map("\n".join),
)  # fmt: skip


@given(TEXTS)
def test_no_text_makes_them_raise(text: str) -> None:
    broken = read_graph_break(text)
    assert broken.line is None or broken.line >= 0
    for failure in read_guard_failures(text):
        assert failure.text.strip() == failure.text
    tree = read_guard_tree(text)
    assert all(1 <= node.line <= text.count("\n") + 1 for node in tree.nodes)


@given(st.lists(st.one_of(
    st.binary(max_size=40),
    st.builds(event, st.sampled_from("abc"), st.sampled_from("BEi"),
              st.floats(-10, 1e18, allow_nan=False)),
), max_size=40))  # fmt: skip
def test_no_events_make_them_raise(events: list[bytes]) -> None:
    phases = PhaseEvents()
    for payload in events:
        phases.add(payload, "0/0", 0, 1, 1)
        read_cache_answer("fx_graph_cache_hit", payload)
        tensor_in_short(payload)
    phases.finish()
    assert all(0 <= span.self_us <= span.duration_us for span in phases.spans)
