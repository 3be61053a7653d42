"""Dynamo's nodes and what they became: by Inductor's record, and by the user's line without it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inductorscope.correlate.links.dynamo_nodes import link_dynamo
from inductorscope.correlate.links.model import Collector, GraphLinks
from inductorscope.formats.graph.fx import parse_fx
from inductorscope.formats.graph.provenance import parse_provenance
from inductorscope.formats.log.trace_log import read_trace_log

DYNAMO = """\
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4]", L_w_0_: "f32[4]", L_w_1_: "f32[4]"):
        l_x_ = L_x_
        l_w_0_ = L_w_0_
        l_w_1_ = L_w_1_

        # File: /m.py:3 in forward, code: x = x * self.w + 1
        mul: "f32[4]" = l_x_ * l_w_0_;  l_x_ = l_w_0_ = None
        x: "f32[4]" = mul + 1;  mul = None

        # File: /m.py:4 in forward, code: x = torch.relu(x)
        x_1: "f32[4]" = torch.relu(x);  x = None

        # File: /m.py:3 in forward, code: x = x * self.w + 1
        mul_1: "f32[4]" = x_1 * l_w_1_;  x_1 = l_w_1_ = None
        x_2: "f32[4]" = mul_1 + 1;  mul_1 = None
        return (x_2,)
"""
BACKWARD = """\
class GraphModule(torch.nn.Module):
    def forward(self, primals_2: "f32[4]", primals_3: "f32[4]", le: "b8[4]", tangents_1: "f32[4]"):
        # File: /m.py:3 in forward, code: x = x * self.w + 1
        mul_2: "f32[4]" = torch.ops.aten.mul.Tensor(tangents_1, primals_3);  primals_3 = None

        # File: /m.py:4 in forward, code: x = torch.relu(x)
        where: "f32[4]" = torch.ops.aten.where.self(le, mul_2, mul_2);  le = None

        # File: /m.py:3 in forward, code: x = x * self.w + 1
        mul_4: "f32[4]" = torch.ops.aten.mul.Tensor(where, primals_2);  where = primals_2 = None
        return (mul_4,)
"""


def linked(dynamo: str, post: str, post_to_pre: dict[str, list[str]]) -> GraphLinks:
    collector = Collector()
    parsed = parse_fx(dynamo)
    link_dynamo(collector, "dynamo", parsed, parse_fx(post), post_to_pre)
    return collector.finish()


def became(links: GraphLinks, text: str) -> dict[str, list[tuple[str, str]]]:
    """Post-grad node → names of Dynamo's, and how that is known."""
    lines = text.split("\n")
    columns = links.stages["dynamo"]
    found: dict[str, list[tuple[str, str]]] = {}
    rows = zip(columns.lines, columns.entities, columns.confidence, strict=True)
    for line, entity, known in rows:
        kind, _, name = links.entities[entity].partition(":")
        if kind == "fx":
            own = lines[line - 1].split("=")[0].split(":")[0].strip()
            how = {1: "one of these", 2: "inferred", 3: "exact"}[known]
            found.setdefault(name, []).append((own, how))
    return found


def test_inductors_record_is_exact() -> None:
    found = became(linked(DYNAMO, BACKWARD, {"where": ["x_1"], "mul_4": ["mul", "x"]}), DYNAMO)
    assert found["where"] == [("x_1", "exact")]
    assert found["mul_4"] == [("mul", "exact"), ("x", "exact")]


def test_a_parameter_tells_the_turn_of_a_loop_and_the_node() -> None:
    found = became(linked(DYNAMO, BACKWARD, {}), DYNAMO)
    assert found["mul_2"] == [("mul_1", "inferred")]
    assert found["mul_4"] == [("mul", "inferred")]
    assert found["where"] == [("x_1", "inferred")]


def test_inputs_keep_their_place_where_their_types_agree() -> None:
    found = became(linked(DYNAMO, BACKWARD, {}), DYNAMO)
    assert found["primals_2"] == [("l_w_0_", "inferred")]
    assert found["primals_3"] == [("l_w_1_", "inferred")]
    other = BACKWARD.replace('primals_2: "f32[4]"', 'primals_2: "f16[4]"')
    assert "primals_2" not in became(linked(DYNAMO, other, {}), DYNAMO)


def test_what_cannot_be_told_apart_names_all_candidates() -> None:
    post = BACKWARD.replace("mul.Tensor(tangents_1, primals_3)", "cos.default(tangents_1)")
    found = became(linked(DYNAMO, post, {}), DYNAMO)
    assert found["mul_2"] == [("mul_1", "one of these"), ("x_2", "one of these")]


def test_the_users_lines_name_dynamos_nodes() -> None:
    links = linked(DYNAMO, BACKWARD, {})
    columns = links.stages["source:/m.py"]
    names = [
        links.entities[entity]
        for line, entity in zip(columns.lines, columns.entities, strict=True)
        if line == 4
    ]
    assert names == ["dyn:x_1"]


@given(st.text(max_size=300), st.text(max_size=300), st.integers(0, len(DYNAMO)))
def test_no_text_makes_it_raise(noise: str, other: str, cut: int) -> None:
    linked(DYNAMO[:cut] + noise, BACKWARD[: cut // 2] + other, {"where": ["nothing", noise]})
    linked(noise, other, {})


def payloads(log: Path) -> dict[str, str]:
    """Texts of a log of one compile, by what they are."""
    found: dict[str, str] = {}
    with log.open("rb") as stream:
        for record in read_trace_log(stream):
            if record.payload is not None:
                found[record.name or record.kind] = record.payload.decode()
    return found


@pytest.mark.parametrize("run", ["cuda-foo1", "cpu-gpt-train", "cuda-gpt-train"])
def test_lines_alone_tell_what_inductor_recorded(run: str, shared: Path) -> None:
    """Real captures: what is inferred without the record is what the record says."""
    (log,) = (shared / "traces" / run / "torch_trace").glob("*.log")
    texts = payloads(log)
    (folder,) = (shared / "traces" / run).rglob("model__0_*[df]*_[01].*")
    record = (folder / "inductor_provenance_tracking_node_mappings.json").read_bytes()
    post_to_pre = parse_provenance(record).post_to_pre
    post = (folder / "fx_graph_transformed.py").read_text()
    dynamo = texts["dynamo_output_graph"]
    recorded = became(linked(dynamo, post, post_to_pre), dynamo)
    calls = [node.name for node in parse_fx(post).main() if node.kind == "call"]
    exact = [name for name in calls if recorded.get(name, [("", "")])[0][1] == "exact"]
    assert len(exact) >= 0.9 * len(calls)

    inferred = became(linked(dynamo, post, {}), dynamo)
    told = [name for name in exact if [how for _, how in inferred.get(name, [])] == ["inferred"]]
    assert len(told) >= 0.25 * len(exact)
    assert [name for name in told if inferred[name][0][0] not in dict(recorded[name])] == []
