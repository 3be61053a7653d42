"""Collectives matched across ranks: who is late, also with clocks that disagree."""

import io
import json

import pytest
from inductorscope.analyze.ranks.lateness import Call, RankCalls, lateness
from inductorscope.analyze.time.breakdown import break_down
from inductorscope.analyze.time.collectives import collective_calls, name_of
from inductorscope.formats.trace.kineto import read_chrome_stream
from msgspec.structs import replace

NAMES = ("all_reduce", "reduce_scatter", "all_gather")
S = 1_000_000_000


def rank(
    number: int,
    late: float = 0,
    *,
    host: str = "a",
    base_ns: int = 0,
    names: tuple[str, ...] = NAMES,
) -> RankCalls:
    """Three collectives, one a millisecond; the rank is late to the second."""
    calls = [
        Call(name, "0", "0/0", 1000 * at + (late if at == 1 else 0),
             500 - (late if at == 1 else 0), 64)
        for at, name in enumerate(names)
    ]  # fmt: skip
    shifted = [
        Call(call.name, call.group, call.compile_id, call.start_us - base_ns / 1000, call.us, 64)
        for call in calls
    ]
    return RankCalls(number, host, base_ns, shifted, on_device=True)


def test_the_last_to_arrive() -> None:
    found = lateness([rank(0), rank(1, late=40), rank(2)])
    first = found.calls[0]
    assert (first.number, first.name, first.last) == (2, "reduce_scatter", 1)
    assert first.late_us == pytest.approx(40)
    assert first.waited_us == pytest.approx(80)
    assert (first.ranks, first.compile_id, found.clocks) == (3, "0/0", "host")
    worst = found.ranks[0]
    assert worst.rank == 1
    assert worst.waited_us == pytest.approx(80)
    assert [call.late_us for call in found.calls[1:]] == [0, 0]


def test_traces_that_count_from_different_moments() -> None:
    found = lateness([rank(0, base_ns=5 * S), rank(1, late=40, base_ns=9 * S)])
    assert found.calls[0].late_us == pytest.approx(40)


def test_clocks_of_other_hosts_agree_at_the_ends() -> None:
    """Rank 1's clock is three seconds ahead; all ranks leave a collective together."""
    other = rank(1, late=40, host="b")
    other.calls = [
        Call(call.name, "0", "0/0", call.start_us + 3e6, call.us, 64) for call in other.calls
    ]
    found = lateness([rank(0), rank(2), other])
    assert found.clocks == "ends"
    assert found.calls[0].last == 1
    assert found.calls[0].late_us == pytest.approx(40)


def test_traces_of_different_steps_are_not_compared() -> None:
    other = rank(1, host="b")
    other.calls[0] = replace(other.calls[0], us=2e6)
    found = lateness([rank(0), other])
    assert not found.calls
    assert found.parting == [
        "the ends of one collective are 2.00 s apart, so the traces are of different steps; "
        "profile the same steps on all ranks"
    ]


def test_a_collective_that_one_rank_lacks() -> None:
    found = lateness([rank(0), rank(1, names=("all_reduce", "all_gather"))])
    assert [call.name for call in found.calls] == ["all_reduce"]
    assert found.parting == [
        "as collective 2 of group 0, rank 0 calls reduce_scatter and rank 1 all_gather"
    ]


def test_nothing_to_compare() -> None:
    assert lateness([]).calls == []
    assert lateness([rank(0)]).calls == []


def test_the_collectives_of_a_device() -> None:
    """Kernels say which collective and group they are; their launch, which compile called them."""
    said = {"Collective name": "_allgather_base", "Process Group Name": "3", "In msg nelems": 640}
    where = {"ph": "X", "pid": 1, "tid": 1}
    events = [
        where | {"cat": "cpu_op", "name": "Torch-Compiled Region: 1/0", "ts": 0, "dur": 90,
                 "args": {"External id": 1}},
        where | {"cat": "cpu_op", "name": "c10d::_allgather_base_", "ts": 10, "dur": 5,
                 "args": {"External id": 7}},
        where | {"cat": "kernel", "name": "gemm", "pid": 0, "ts": 12, "dur": 9, "args": {}},
        where | {"cat": "kernel", "name": "gemm", "pid": 0, "ts": 25, "dur": 9.5, "args": {}},
        where | {"cat": "kernel", "name": "ncclDevKernel_Generic(ncclDevKernelArgs)", "pid": 0,
                 "tid": 9, "ts": 30, "dur": 20.5, "args": said | {"External id": 7}},
    ]  # fmt: skip
    info = {"backend": "nccl", "rank": 5, "world_size": 8}
    text = {"distributedInfo": info, "host_name": "h", "baseTimeNanoseconds": 17,
            "traceEvents": events}  # fmt: skip
    trace = read_chrome_stream(io.BytesIO(json.dumps(text).encode()))
    assert (trace.rank, trace.host, trace.base_ns) == (5, "h", 17)
    found = collective_calls(trace, break_down(trace).kernel_category)
    assert (found.names, found.groups, found.compiles) == (["all_gather"], ["3"], ["1/0"])
    assert found.calls == [(0, 0, 0, 30.0, 20.5, 640)]
    assert found.took == [(20.5, 4.5)]
    assert found.on_device


def test_the_collectives_of_a_processor() -> None:
    """A thread of the backend does the work; what the program does not wait for is hidden."""
    events = [
        {"ph": "X", "pid": 1, "tid": thread, "cat": kind, "name": name, "ts": ts, "dur": us,
         "args": {}}
        for thread, kind, name, ts, us in (
            (1, "cpu_op", "c10d::allreduce_", 10, 5), (1, "cpu_op", "aten::mm", 16, 30),
            (1, "cpu_op", "_c10d_functional::wait_tensor", 50, 20),
            (1, "cpu_op", "c10d::allreduce_", 80, 5),
            (1, "cpu_op", "_c10d_functional::wait_tensor", 86, 44),
            (2, "user_annotation", "gloo:all_reduce", 90, 40),
            (2, "user_annotation", "gloo:all_reduce", 12, 50),
        )
    ]  # fmt: skip

    def took(events: list[dict[str, object]]) -> list[tuple[float, float]]:
        text = json.dumps({"traceEvents": events}).encode()
        trace = read_chrome_stream(io.BytesIO(text))
        return collective_calls(trace, break_down(trace).kernel_category).took

    assert took(events) == [(50, 38), (40, 0)]
    assert took(events[:-1]) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)", "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_f32_RING_LL", "reduce_scatter"),
        ("allgather_into_tensor_coalesced_", "all_gather"),
        ("_allgather_base", "all_gather"), ("reduce_scatter_tensor_coalesced_", "reduce_scatter"),
        ("alltoall_base_", "all_to_all"), ("broadcast_", "broadcast"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "send_recv"),
        ("mscclKernel_Sum_float", "mscclKernel_Sum_float"),
    ],
)  # fmt: skip
def test_names_of_collectives(text: str, name: str) -> None:
    assert name_of(text) == name
