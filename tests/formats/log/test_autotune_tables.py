"""Tables that max-autotune prints, as people's logs hold them."""

from hypothesis import given
from hypothesis import strategies as st
from inductorscope.formats.log.torch_logs import TorchLogs, looks_like_torch_logs
from inductorscope.intake.sniff import role_of

TABLE = """\
AUTOTUNE mm(4096x16384, 16384x4096)
strides: [16384, 1], [1, 16384]
dtypes: torch.bfloat16, torch.bfloat16
  mm 0.6659 ms 100.0%\x20
  triton_mm_110 0.7683 ms 86.7% ACC_TYPE='tl.float32', BLOCK_K=64, num_warps=4
W0502 some compiler warns between the lines
  triton_mm_104 inf ms 0.0% ACC_TYPE='tl.float32', BLOCK_K=128, num_warps=8
SingleProcess AUTOTUNE benchmarking takes 0.9773 seconds and 0.6039 seconds precompiling for 17 choices
"""  # noqa: E501  # as printed
OLD = """\
[rank1]: AUTOTUNE bias_addmm(64x3, 64x10, 10x3)
[rank1]:   bias_addmm 0.0061 ms 100.0%
[rank1]:   addmm 0.0000 ms <DIVIDED BY ZERO ERROR>
[rank1]: SubProcess AUTOTUNE takes 1.5 seconds
"""
SAID = (
    "V1121 11:13:16.660000 13776 torch/_inductor/select_algorithm.py:20] [3/1] [__autotuning] begin"
)


def read(text: str) -> TorchLogs:
    log = TorchLogs()
    for line in text.split("\n"):
        log.add(line)
    return log


def test_every_candidate_is_read_with_its_time() -> None:
    (table,) = read(f"{SAID}\n{TABLE}").tables.tables
    assert (table.op, table.shapes) == ("mm", "4096x16384, 16384x4096")
    assert (table.compile_id, table.line) == ("3/1", 2)
    assert [(choice.name, choice.us and round(choice.us, 3)) for choice in table.choices] == [
        ("mm", 665.9), ("triton_mm_110", 768.3), ("triton_mm_104", None),
    ]  # fmt: skip
    assert table.choices[1].what == "ACC_TYPE='tl.float32', BLOCK_K=64, num_warps=4"
    assert (table.strides, table.dtypes) == (
        "[16384, 1], [1, 16384]", "torch.bfloat16, torch.bfloat16",
    )  # fmt: skip
    assert (table.seconds, table.precompile_seconds, table.count) == (0.9773, 0.6039, 17)


def test_tables_of_older_versions_and_of_ranks() -> None:
    (table,) = read(OLD).tables.tables
    assert table.op == "bias_addmm"
    assert [(choice.name, choice.us and round(choice.us, 3)) for choice in table.choices] == [
        ("bias_addmm", 6.1), ("addmm", None),
    ]  # fmt: skip
    assert (table.seconds, table.count) == (1.5, 2)


def test_a_text_with_a_table_is_known_as_what_torch_printed() -> None:
    text = "loading the model\nstep 1\n" + TABLE
    assert looks_like_torch_logs(text)
    assert role_of("output.txt", text.encode()) == "torch_logs"
    assert not looks_like_torch_logs("AUTOTUNE is slow\nAUTOTUNE mm(\n")


lines = st.sampled_from([*TABLE.split("\n"), *OLD.split("\n"), SAID, "", "  mm 1 ms", "  x" * 50])


@given(st.lists(lines | st.text(max_size=200), max_size=40))
def test_lines_in_any_order_are_read(given_lines: list[str]) -> None:
    log = read("\n".join(given_lines))
    begun = sum("AUTOTUNE" in line and "(" in line for text in given_lines for line in [text])
    assert len(log.tables.tables) <= begun
    assert all(table.line <= log.lines for table in log.tables.tables)
