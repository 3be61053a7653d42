"""Why a line is linked as it is, in a sentence; and both answers where two remain possible."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.correlate.directory import read_texts
from inductorscope.correlate.explain import Explainer
from inductorscope.correlate.graph import graph_links
from inductorscope.correlate.links.model import Confidence
from inductorscope.correlate.links.texts import GraphTexts
from msgspec.structs import replace

TWIN = '        maximum_1: "u8[8390, 8]" = torch.ops.aten.maximum.default(arg1_1, neg)\n'


@pytest.fixture(scope="module")
def foo1() -> GraphTexts:
    fixtures = Path(__file__).parents[1] / "fixtures"
    (code,) = (fixtures / "cuda-foo1").rglob("output_code.py")
    return read_texts(code)


def line_of(texts: GraphTexts, wanted: str) -> int:
    lines = (texts.code or "").split("\n")
    return next(number for number, line in enumerate(lines, 1) if wanted in line)


def changed(texts: GraphTexts, old: str, new: str) -> GraphTexts:
    return replace(texts, post_grad=(texts.post_grad or "").replace(old, new))


def test_the_sentence_names_operation_and_node(foo1: GraphTexts) -> None:
    (reason,) = Explainer(foo1).reasons("code", line_of(foo1, "tmp2 = -tmp1"))
    assert reason.code == "data_flow"
    assert reason.operation == "op:op0.neg"
    assert reason.nodes == ["fx:neg"]
    assert "`neg` of op0's loop body." in reason.sentence
    assert "The kernel's comment says that buf0 was made for `maximum`." in reason.sentence
    assert "it belongs to `neg`" in reason.sentence


def test_of_several_alike_it_is_told_which(foo1: GraphTexts) -> None:
    (reason,) = Explainer(foo1).reasons("code", line_of(foo1, "tmp1 = tl.load"))
    assert "`load_1` of op0's loop body." in reason.sentence


def test_lines_of_the_loops_have_reasons_too(foo1: GraphTexts) -> None:
    lines = (foo1.ir_post or "").split("\n")
    number = next(n for n, line in enumerate(lines, 1) if "ops.maximum" in line)
    (reason,) = Explainer(foo1).reasons("ir_post", number)
    assert reason.nodes == ["fx:maximum"]
    assert Explainer(foo1).reasons("ir_post", 1) == []


def test_without_ir_the_sentence_says_so(foo1: GraphTexts) -> None:
    texts = replace(foo1, ir_pre=None, ir_post=None)
    (reason,) = Explainer(texts).reasons("code", line_of(texts, "tmp2 = -tmp1"))
    assert reason.code == "data_flow"
    assert reason.nodes == ["fx:neg"]
    assert reason.sentence.startswith("There is no IR of this kernel")
    assert "this `neg` belongs to `neg`" in reason.sentence


def test_where_two_nodes_fit_both_are_given(foo1: GraphTexts) -> None:
    graph = (foo1.post_grad or "").replace(
        "        return (maximum,)", TWIN + "        return (maximum, maximum_1)"
    )
    # Without Inductor's record of the kernel's nodes, which would settle it.
    code = (foo1.code or "").replace("Graph fragment:", "")
    texts = replace(foo1, post_grad=graph, code=code, provenance=None)
    number = line_of(texts, "triton_helpers.maximum")
    (reason,) = Explainer(texts).reasons("code", number)
    assert reason.code == "ambiguous"
    assert reason.nodes == ["fx:maximum", "fx:maximum_1"]
    assert "`maximum` and `maximum_1` fit equally well" in reason.sentence
    links = graph_links(texts)
    stage = links.stages["code"]
    known = {
        links.entities[entity]: confidence
        for line, entity, confidence in zip(
            stage.lines, stage.entities, stage.confidence, strict=True
        )
        if line == number
    }
    assert known["fx:maximum"] == Confidence.inferred
    assert known["fx:maximum_1"] == Confidence.kernel


def test_the_record_of_a_kernel_settles_which_of_two_nodes_it_computes(foo1: GraphTexts) -> None:
    graph = (foo1.post_grad or "").replace(
        "        return (maximum,)", TWIN + "        return (maximum, maximum_1)"
    )
    texts = replace(foo1, post_grad=graph)
    (reason,) = Explainer(texts).reasons("code", line_of(texts, "triton_helpers.maximum"))
    assert (reason.code, reason.nodes) == ("data_flow", ["fx:maximum"])


def test_without_a_fitting_node_that_is_said(foo1: GraphTexts) -> None:
    texts = replace(foo1, post_grad=(foo1.post_grad or "").replace("aten.neg", "aten.exp"))
    (reason,) = Explainer(texts).reasons("code", line_of(texts, "tmp2 = -tmp1"))
    assert reason.code in ("unknown", "doubtful")


@given(stage=st.sampled_from(["code", "ir_pre", "ir_post", "post_grad"]), line=st.integers(-3, 200))
def test_any_line_may_be_asked_for(foo1: GraphTexts, stage: str, line: int) -> None:
    for reason in Explainer(foo1).reasons(stage, line):
        assert reason.sentence.endswith(".")


@pytest.mark.parametrize("texts", [GraphTexts(), GraphTexts(code="x = 1\n", ir_post="op0:")])
def test_missing_texts_give_no_reasons(texts: GraphTexts) -> None:
    assert Explainer(texts).reasons("code", 1) == []
