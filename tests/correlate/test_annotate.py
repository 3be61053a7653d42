"""Annotated code runs as before, and says what the tutorial's author wrote by hand."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.correlate.annotate.code import NodeText, annotate, node_texts, open_lines, plain
from inductorscope.correlate.annotate.files import annotate_file, lone_links
from inductorscope.correlate.directory import NoGraphs, output_codes
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.model import GraphLinks, StageLinks
from inductorscope.correlate.links.texts import GraphTexts
from inductorscope.formats.code.output_code import parse_output_code
from inductorscope.formats.graph.fx import parse_fx

from tests.support.running import run as run_command

# The tutorial's own listing, of an older torch: plain `neg`, `long` counters, no comments, no IR.
OLD_GRAPH = """\
def forward1(self, arg0_1, arg1_1):
    neg = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
    maximum = torch.ops.aten.maximum.default(arg1_1, neg);  arg1_1 = neg = None
    clone = torch.ops.aten.clone.default(maximum);  maximum = None
    return (clone,)
"""
OLD_CODE = """\
from torch._inductor.codecache import AsyncCompile
async_compile = AsyncCompile()

cpp_fused_cat_maximum_neg_0 = async_compile.cpp('''
#include "/tmp/torchinductor_root/gv/cgv6n5aotqjo5w4vknjibhengeycuattfto532hkxpozszcgxr3x.h"
extern "C" void kernel(const unsigned char* in_ptr0,
                       const unsigned char* in_ptr1,
                       unsigned char* out_ptr0)
{
    {
        #pragma GCC ivdep
        for(long i0=static_cast<long>(0L); i0<static_cast<long>(8390L); i0+=static_cast<long>(1L))
        {
            #pragma GCC ivdep
            for(long i1=static_cast<long>(0L); i1<static_cast<long>(8L); i1+=static_cast<long>(1L))
            {
                auto tmp0 = in_ptr0[static_cast<long>(i1 + (8L*i0))];
                auto tmp1 = in_ptr1[static_cast<long>(i1)];
                auto tmp2 = decltype(tmp1)(-tmp1);
                auto tmp3 = max_propagate_nan(tmp0, tmp2);
                out_ptr0[static_cast<long>(i1 + (8L*i0))] = tmp3;
            }
        }
    }
}''')
"""
OLD_COMMENTED = """\
                // Corresponding FX code line: neg = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
                auto tmp2 = decltype(tmp1)(-tmp1);
                // Corresponding FX code line: maximum = torch.ops.aten.maximum.default(arg1_1, neg);  arg1_1 = neg = None
                auto tmp3 = max_propagate_nan(tmp0, tmp2);
                // Corresponding FX code line: clone = torch.ops.aten.clone.default(maximum);  maximum = None
                out_ptr0[static_cast<long>(i1 + (8L*i0))] = tmp3;
"""  # noqa: E501


def listing(fixtures: Path, name: str) -> Path:
    (found,) = output_codes(fixtures / name)
    return found


def without_comments(annotated: str, original: str) -> list[str]:
    """The annotated lines that are no new comments: those of the original, in order."""
    wanted = iter(original.split("\n"))
    ahead = next(wanted, None)
    kept: list[str] = []
    for line in annotated.split("\n"):
        if line == ahead:
            kept.append(line)
            ahead = next(wanted, None)
        else:
            assert re.match(r"\s*(#|//) ", line), f"added, and no comment: {line!r}"
    return kept


def strings_of(code: str) -> Iterator[str]:
    """The kernels' texts as Python reads them."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            yield node.value


@pytest.mark.parametrize("name", ["cuda-foo1", "cuda-adam", "cpu-ops-zoo"])
def test_only_comments_are_added_and_all_of_it_still_parses(fixtures: Path, name: str) -> None:
    file = listing(fixtures, name)
    annotated = annotate_file(file)
    original = file.read_text()
    assert without_comments(annotated, original) == original.split("\n")
    assert len(annotated) > len(original) + 200
    for text in strings_of(annotated):
        if "@triton.jit" in text:
            ast.parse(text)


def test_the_tutorials_triton_kernel_has_its_fx_line_above_each_line_that_computes(
    fixtures: Path,
) -> None:
    annotated = annotate_file(listing(fixtures, "cuda-foo1"))
    assert (
        """\
    # Corresponding FX code line: neg = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
    tmp2 = -tmp1
    # /home/user/models/models.py:10  b = torch.maximum(x2, a)
    # Corresponding FX code line: maximum = torch.ops.aten.maximum.default(arg1_1, neg);\
  arg1_1 = neg = None
    tmp3 = triton_helpers.maximum(tmp0, tmp2)
"""
        in annotated
    )
    assert annotated.count("Corresponding FX code line") == 2


def test_what_is_annotated_links_as_before(fixtures: Path) -> None:
    """The comments change nothing that a second reading sees but the lines' numbers."""
    file = listing(fixtures, "cpu-ops-zoo")
    before = parse_output_code(file.read_text())
    after = parse_output_code(annotate_file(file))
    assert [kernel.name for kernel in after.kernels] == [kernel.name for kernel in before.kernels]
    assert [call.arguments for call in after.calls] == [call.arguments for call in before.calls]


@pytest.mark.usefixtures("vectors")
def test_an_annotated_cpp_kernel_compiles(fixtures: Path, tmp_path: Path) -> None:
    from torch._inductor.cpu_vec_isa import pick_vec_isa
    from torch.utils.cpp_extension import include_paths

    annotated = annotate_file(listing(fixtures, "cpu-ops-zoo"))
    kernels = [text for text in strings_of(annotated) if 'extern "C"' in text]
    # Vectors, masks, reductions, a lambda: whatever carries a comment inside.
    longest = max(kernels, key=lambda text: text.count("// Corresponding FX code line"))
    assert longest.count("// Corresponding FX code line") > 10
    source = tmp_path / "kernel.cpp"
    source.write_text(longest)
    isa = pick_vec_isa()
    command = ["g++", "-fsyntax-only", "-std=c++20", "-fopenmp", *isa.build_arch_flags().split()]
    command += [f"-D{macro}" for macro in isa.build_macro()]
    command += [f"-I{path}" for path in include_paths()]
    done = subprocess.run([*command, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]


# --- listings that stand alone --------------------------------------------------------------------


def test_the_tutorials_old_listing_is_annotated_as_its_author_did(tmp_path: Path) -> None:
    (tmp_path / "output_code.py").write_text(OLD_CODE)
    (tmp_path / "fx_graph_runnable.py").write_text(OLD_GRAPH)
    assert OLD_COMMENTED in annotate_file(tmp_path / "output_code.py")


def test_a_listing_that_says_so_already_is_not_told_twice(tmp_path: Path) -> None:
    (tmp_path / "fx_graph_runnable.py").write_text(OLD_GRAPH)
    code = tmp_path / "output_code.py"
    code.write_text(OLD_CODE)
    code.write_text(annotate_file(code))
    again = annotate_file(code)
    assert OLD_COMMENTED in again
    comment = "// Corresponding FX code line: neg = "
    assert again.count(comment) == code.read_text().count(comment) > 0


def test_the_graph_may_stand_in_the_same_file_or_be_named(tmp_path: Path) -> None:
    (tmp_path / "pasted.txt").write_text(OLD_GRAPH + "\n\n" + OLD_CODE)
    assert OLD_COMMENTED in annotate_file(tmp_path / "pasted.txt")
    (tmp_path / "code.txt").write_text(OLD_CODE)
    (tmp_path / "graph.txt").write_text(OLD_GRAPH)
    assert OLD_COMMENTED in annotate_file(tmp_path / "code.txt", tmp_path / "graph.txt")
    with pytest.raises(NoGraphs, match="--graph"):
        annotate_file(tmp_path / "code.txt")
    with pytest.raises(NoGraphs, match="defines no kernel"):
        annotate_file(tmp_path / "graph.txt")


@pytest.mark.parametrize("name", ["cuda-foo1", "cpu-ops-zoo"])
def test_without_ir_most_lines_agree_with_what_ir_tells(fixtures: Path, name: str) -> None:
    """The same graphs with their IR taken away: what is still said must hardly ever be wrong."""
    from inductorscope.correlate.directory import read_texts

    texts = read_texts(listing(fixtures, name))
    code, graph = texts.code or "", parse_fx(texts.post_grad or "")
    sure = line_nodes(graph_links(texts), 2)
    alone = line_nodes(lone_links(code, graph), 2)
    both = alone.keys() & sure.keys()
    wrong = [line for line in both if not alone[line] & sure[line]]
    assert both
    assert len(wrong) <= 0.1 * len(both)


def line_nodes(links: GraphLinks, least: int) -> dict[int, set[str]]:
    result: dict[int, set[str]] = {}
    stage = links.stages["code"]
    for line, entity, known in zip(stage.lines, stage.entities, stage.confidence, strict=True):
        name = links.entities[entity]
        if known >= least and name.startswith("fx:"):
            result.setdefault(line, set()).add(name)
    return result


# --- hostile text ---------------------------------------------------------------------------------


@given(st.text(max_size=400))
def test_a_comments_text_ends_neither_comment_nor_string(text: str) -> None:
    said = plain(text)
    assert "\n" not in said
    assert "\r" not in said
    assert "\\" not in said
    kernel = f"kernel = '''\n// {said}\nint x;\n'''\nother = \"\"\"\n# {said}\n\"\"\"\n"
    names: dict[str, str] = {}
    exec(compile(kernel, "kernel", "exec"), names)  # two strings, nothing else
    assert names["kernel"].split("\n")[2] == "int x;"
    assert names["other"].split("\n")[1] == f"# {said}"


@given(st.text("'\"\\/*#\n a", max_size=200))
def test_no_comment_is_put_where_a_line_is_carried_on(text: str) -> None:
    lines = text.split("\n")
    allowed = open_lines(lines, 1, len(lines))
    assert allowed <= set(range(1, len(lines) + 1))
    for number in allowed:
        assert number == 1 or not lines[number - 2].endswith("\\")


@given(st.text(max_size=300), st.lists(st.tuples(st.integers(-2, 12), st.integers(0, 1))))
def test_nothing_is_lost_whatever_the_text_and_the_links(
    text: str, found: list[tuple[int, int]]
) -> None:
    code = f"{text}\nk = async_compile.cpp('''\n{text}\n''')\ndef call(args):\n    k(buf0)\n{text}"
    columns = sorted(found)
    links = GraphLinks(
        entities=["fx:a", "op:op0.add"],
        stages={
            "code": StageLinks(
                [line for line, _ in columns],
                [entity for _, entity in columns],
                [2 for _ in columns],
                [-1 for _ in columns],
            )
        },
    )
    annotated = annotate(code, links, {"fx:a": NodeText("a = torch.ops.aten.add(x)")})
    lines = annotated.split("\n")
    wanted = iter(code.split("\n"))
    ahead: str | None = next(wanted)
    for line in lines:
        if line == ahead:
            ahead = next(wanted, None)
    assert ahead is None


def test_nodes_are_quoted_without_their_types() -> None:
    text = 'class <lambda>(torch.nn.Module):\n    def forward(self, x: "f32[2]"):\n'
    text += "        # File: /a/b.py:3 in f, code: y = -x\n"
    text += '        neg: "f32[2][1]cpu" = torch.ops.aten.neg.default(x);  x = None\n'
    assert node_texts(text, parse_fx(text)) == {
        "fx:neg": NodeText("neg = torch.ops.aten.neg.default(x);  x = None", "/a/b.py", 3, "y = -x")
    }
    assert graph_links(GraphTexts(post_grad=text)).entities


# --- the command ----------------------------------------------------------------------------------


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_command("annotate", *map(str, arguments))


def test_the_command_prints_one_listing_and_writes_several(fixtures: Path, tmp_path: Path) -> None:
    one = run(fixtures / "cuda-foo1")
    assert one.returncode == 0, one.stderr
    assert "Corresponding FX code line: neg" in one.stdout
    several = run(fixtures)
    assert several.returncode == 2
    assert "-o" in several.stderr
    written = run(fixtures, "-o", tmp_path / "out")
    assert written.returncode == 0, written.stderr
    files = list((tmp_path / "out").rglob("output_code.py"))
    assert len(files) == len(output_codes(fixtures))
    assert all("Annotated by Inductorscope" in file.read_text() for file in files)


def test_the_command_says_what_it_cannot_annotate(tmp_path: Path) -> None:
    gone = run(tmp_path / "nowhere")
    assert (gone.returncode, gone.stdout) == (3, "")
    assert "does not exist" in gone.stderr
