import assert from "node:assert/strict";
import { test } from "node:test";
import { Camera } from "../src/explorer/picture/camera";
import { fxGraph } from "../src/explorer/picture/fx-graph";
import {
  around,
  complete,
  type Group,
  giverFor,
  newNode,
  pathBetween,
} from "../src/explorer/picture/graph";
import { irGraph } from "../src/explorer/picture/ir-graph";
import { neighbourhood } from "../src/explorer/picture/layout";
import { litNodes, targetOf, targetOfGroup } from "../src/explorer/picture/lit";
import { giversOf, takersOf, whyApart } from "../src/explorer/picture/neighbours";
import { overview } from "../src/explorer/picture/overview";
import { type Box, holds } from "../src/explorer/picture/scene";
import type { Kernel } from "../src/explorer/shapes";
import { LinkIndex } from "../src/explorer/state/links";

function kernel(name: string, calls: [number, string[]][]): Kernel {
  const own = calls.map(([line, fx], at) => ({
    handle: at + 1,
    line,
    permalink: "",
    fx,
    time_us: null,
    measured: false,
    instances: [],
  }));
  const times = { time_us: 8, share: null, time_source: null, call_count: own.length };
  const rest = { kind: "triton", category: "pointwise", calls: own, ...times };
  return { name, operations: name, number: "", first: 1, last: 9, ...rest };
}

function assertApart(boxes: readonly Box[]): void {
  for (const [at, one] of boxes.entries()) {
    for (const other of boxes.slice(at + 1)) {
      const apart =
        one.x + one.width <= other.x ||
        other.x + other.width <= one.x ||
        one.y + one.height <= other.y ||
        other.y + other.height <= one.y;
      assert.ok(apart, JSON.stringify([one, other]));
    }
  }
}

/** x → neg → view → add, cos; `neg` is computed by both calls. */
const COLUMNS = {
  names: ["x", "neg", "view", "add", "cos", "output"],
  targets: ["x", "torch.ops.aten.neg.default", "torch.ops.aten.view.default"].concat([
    "torch.ops.aten.add.Tensor",
    "torch.ops.aten.cos.default",
    "output",
  ]),
  types: ["f32[4]", "f32[4]", "f32[2, 2]", "f32[2, 2]", "f32[4]", ""],
  lines: [2, 4, 5, 6, 7, 8],
  inputs: [[], [0], [1], [2, 2], [1], [3, 4]],
};
const KERNELS = [kernel("one", [[30, ["neg", "add"]]]), kernel("two", [[20, ["neg", "cos"]]])];

test("nodes stand in the calls that compute them, calls in the order in which they run", () => {
  const graph = fxGraph(COLUMNS, KERNELS);
  assert.deepEqual(
    graph.groups.map((group) => [group.title, group.nodes.map((at) => graph.nodes[at]?.name)]),
    [
      ["two", ["neg", "cos"]],
      ["one", ["neg", "add"]],
    ],
  );
  const neg = graph.byName.get("neg") as number;
  assert.deepEqual(graph.nodes[neg]?.groups, [0, 1]);
  assert.deepEqual(
    graph.nodes.map((node) => [node.name, node.op, node.given]),
    [
      ["x", "input", true],
      ["neg", "neg", false],
      ["view", "view", false],
      ["add", "add", false],
      ["cos", "cos", false],
    ],
  );
  assert.equal(giverFor(graph, neg, 1), 0);
  assert.equal(giverFor(graph, neg, 0), null);
});

test("a neighbourhood grows step by step, and says what it leaves out", () => {
  const graph = fxGraph(COLUMNS, KERNELS);
  const names = (hops: number, most = 300) =>
    around(graph, [3], hops, most).nodes.map((at) => graph.nodes[at]?.name);
  assert.deepEqual(names(0), ["add"]);
  assert.deepEqual(names(1), ["view", "add"]);
  assert.deepEqual(names(3), ["x", "neg", "view", "add", "cos"]);
  assert.deepEqual(around(graph, [3], 3, 2), { nodes: [2, 3], more: 1 });
});

test("the overview draws every node once in each group, with nothing on top of anything", () => {
  const graph = fxGraph(COLUMNS, KERNELS);
  const scene = overview(graph, 1);
  const drawn = scene.nodes.map(({ node, group }) => `${graph.nodes[node]?.name}@${group}`).sort();
  assert.deepEqual(drawn, ["add@1", "cos@0", "neg@0", "neg@1", "view@1", "x@0"]);
  for (const box of scene.nodes) {
    assert.ok(box.x >= 0 && box.x + box.width <= scene.width);
    assert.ok(box.y >= 0 && box.y + box.height <= scene.height);
  }
  for (const boxes of [scene.nodes, scene.groups]) assertApart(boxes);
});

test("a neighbourhood draws each node once, below what it takes, in the box of its group", () => {
  const graph = fxGraph(COLUMNS, KERNELS);
  const scene = neighbourhood(graph, [0, 1, 2, 3, 4]);
  assert.deepEqual(
    scene.nodes.map(({ node, group }) => [graph.nodes[node]?.name, group]),
    [
      ["x", null],
      ["neg", 0],
      ["cos", 0],
      ["view", null],
      ["add", 1],
    ],
  );
  assertApart(scene.nodes);
  assertApart(scene.groups);
  for (const { group, x, y, width, height } of scene.nodes) {
    const around = group === null ? scene : scene.groups.find((each) => each.group === group);
    assert.ok(around && holds(around, x, y) && holds(around, x + width, y + height));
  }
  assert.equal(scene.lines.length, 4); // add takes view twice
  for (const { points } of scene.lines) assert.ok((points[1] ?? 0) < (points.at(-1) ?? 0));
});

test("a chain of many groups fills the room in columns", () => {
  const nodes = Array.from({ length: 600 }, (_, at) => newNode(`n${at}`, "mul", "", at + 1));
  nodes.forEach((node, at) => {
    if (at) node.inputs = [at - 1];
  });
  const groups: Group[] = nodes.map((_, at) => {
    const rest = { kernel: "k", handle: at, hue: "pointwise", time_us: null };
    return { title: "k", nodes: [at], ...rest };
  });
  const scene = overview(complete("post_grad", "values", nodes, groups), 1.5);
  assert.equal(scene.nodes.length, 600);
  assert.equal(scene.lines.length, 599);
  const shape = scene.width / scene.height;
  assert.ok(shape > 0.9 && shape < 2.5, `${shape}`);
});

const IR = `op0: SchedulerNode(ComputedBuffer)
op0.writes = [MemoryDep('buf0', c0, {c0: 8})]
op0.unmet_dependencies = []
op0.outputs = [
    buf0: ComputedBuffer
    buf0.users = [NodeUser(node=SchedulerNode(name='op1'))]
]
class op0_loop_body:
    pass

op1_op2: FusedSchedulerNode(SchedulerNode,SchedulerNode)
op1_op2.unmet_dependencies = [MemoryDep('buf0', c0, {c0: 8})]
op1_op2.outputs = [
    buf1: ComputedBuffer
]
op1_op2.snodes[0] =
op1: SchedulerNode(ComputedBuffer)
op1.unmet_dependencies = [MemoryDep('buf0', c0, {c0: 8})]
op1.outputs = [
    buf1: ComputedBuffer
]
op1_op2.snodes[1] =
op2: SchedulerNode(ComputedBuffer)
op2.unmet_dependencies = 
    [   MemoryDep('buf1', c0, {c0: 8}),
        MemoryDep('buf0', c0, {c0: 8})]
op2.outputs = [
    buf2: ComputedBuffer
]
op3: ExternKernelSchedulerNode(ExternKernelOut)
op3.unmet_dependencies = [StarDep(name='buf2', mode=None)]
op3.outputs = [
    buf3: ExternKernelOut
]
`.split("\n");

test("scheduler nodes wait for who writes their buffers, and stand in what they were fused into", () => {
  const index = new LinkIndex({ engine: "", entities: [], stages: {} });
  const graph = irGraph("ir_post", IR, index, []);
  assert.deepEqual(
    graph.nodes.map(({ name, type, inputs, first }) => [name, type, inputs, first]),
    [
      ["op0", "buf0", [], 1],
      ["op1", "buf1", [0], 17],
      ["op2", "buf2", [1, 0], 23],
      ["op3", "buf3", [2], 30],
    ],
  );
  assert.deepEqual(
    graph.groups.map((group) => [group.title, group.nodes]),
    [
      ["ComputedBuffer", [0]],
      ["2 fused", [1, 2]],
      ["ExternKernelOut", [3]],
    ],
  );
  assert.deepEqual(targetOf(graph, 3), { stage: "ir_post", line: 30, last: 35 });
});

test("text that is no IR draws nothing and does not fail", () => {
  const index = new LinkIndex({ engine: "", entities: [], stages: {} });
  assert.equal(irGraph("ir_pre", ["op1.snodes[0] =", "):("], index, []).nodes.length, 0);
});

test("a selection lights its nodes, and a node or a call selects itself", () => {
  const graph = fxGraph(COLUMNS, KERNELS);
  const columns = { lines: [4, 6], entities: [0, 1], confidence: [3, 3], call: [-1, -1] };
  const index = new LinkIndex({
    engine: "",
    entities: ["fx:neg", "fx:add", "dyn:a"],
    stages: { post_grad: columns },
  });
  const names = (found: Set<number>) => [...found].map((at) => graph.nodes[at]?.name);
  assert.deepEqual(names(litNodes(graph, index, index.selectEntity("fx:add"))), ["add"]);
  assert.deepEqual(names(litNodes(graph, index, index.selectLine("post_grad", 4))), ["neg"]);
  assert.deepEqual(names(litNodes(graph, index, index.selectEntity("dyn:a"))), []);
  assert.deepEqual(targetOf(graph, 1), { entity: "fx:neg" });
  assert.deepEqual(targetOfGroup(graph, 1), { entity: "call:one:1" });
});

test("zooming keeps the place under the pointer", () => {
  const camera = new Camera();
  camera.fit({ x: 0, y: 0, width: 1000, height: 500 }, { width: 400, height: 400 });
  const before = camera.toScene(120, 90);
  camera.scale(3, 120, 90);
  const after = camera.toScene(120, 90);
  assert.ok(Math.hypot(before[0] - after[0], before[1] - after[1]) < 1e-9);
});

test("neighbours are found through views, with what runs between and why they are apart", () => {
  // one computes neg; two and three take it, two through a view; only the last is generated too
  const columns = {
    names: ["x", "neg", "view", "mm", "cos"],
    targets: ["x", "torch.ops.aten.neg.default", "torch.ops.aten.view.default"].concat([
      "torch.ops.aten.mm.default",
      "torch.ops.aten.cos.default",
    ]),
    types: ["", "", "", "", ""],
    lines: [1, 2, 3, 4, 5],
    inputs: [[], [0], [1], [2, 2], [1]],
  };
  const graph = fxGraph(columns, [
    kernel("triton_poi_fused_neg_0", [[10, ["neg"]]]),
    { ...kernel("extern_kernels.mm", [[20, ["mm"]]]), first: null },
    kernel("triton_poi_fused_cos_1", [[30, ["cos"]]]),
  ]);
  const takers = takersOf(graph, 0);
  assert.deepEqual(
    takers.map(({ group, between }) => [group, between]),
    [
      [1, []],
      [2, [1]],
    ],
  );
  assert.equal(whyApart(graph, 0, 2), null);
  assert.match(whyApart(graph, 0, 1) ?? "", /^extern_kernels\.mm is a call of a library/);
  assert.deepEqual(
    giversOf(graph, 2).map(({ group, given }) => [group, given]),
    [[0, 1]],
  );
  assert.deepEqual(giversOf(graph, 0), []);
});

test("the path between two nodes is a shortest one, in either direction", () => {
  const graph = fxGraph(COLUMNS, KERNELS);
  const path = (one: string, other: string) =>
    pathBetween(graph, graph.byName.get(one) ?? -1, graph.byName.get(other) ?? -1)?.map(
      (at) => graph.nodes[at]?.name,
    );
  assert.deepEqual(path("x", "add"), ["x", "neg", "view", "add"]);
  assert.deepEqual(path("add", "neg"), ["neg", "view", "add"]);
  assert.equal(path("add", "cos"), undefined);
});
