import assert from "node:assert/strict";
import { test } from "node:test";
import { instancesOf } from "../src/explorer/kernels/name";
import type { GraphPicture, Kernel } from "../src/explorer/shapes";
import { contentOf, slice } from "../src/explorer/state/content";
import { callOf, timesOfInstances } from "../src/explorer/state/follow";
import { LinkIndex } from "../src/explorer/state/links";

const kernel = (name: string, first: number | null): Kernel => ({
  name,
  operations: name,
  number: "",
  kind: first === null ? "extern" : "cpp",
  category: "",
  first,
  last: first === null ? null : first + 10,
  time_us: null,
  share: null,
  time_source: null,
  call_count: 1,
  calls: [
    {
      handle: 1,
      line: 90,
      permalink: "abc",
      fx: [],
      time_us: null,
      measured: false,
      instances: [],
    },
  ],
});
const code = {
  artifact: 1,
  path: "output_code.py",
  lines: 100,
  first: 1,
  last: 100,
  derived: false,
  digest: "",
  kernel: null,
};
const picture: GraphPicture = {
  run: { id: "r", name: "r" },
  graph: { slug: "g", name: "g", direction: "forward", node_count: 1 },
  stages: [
    { id: "source", title: "Source", language: "python", files: [] },
    { id: "kernel", title: "Kernel", language: "python", files: [code] },
    {
      id: "wrapper",
      title: "Wrapper",
      language: "python",
      files: [{ ...code, first: 80, last: 100 }],
    },
  ],
  kernels: [],
  instances: [],
  graph_time_us: null,
  opens: null,
  coverage: {
    lines: 0,
    lines_exact: 0,
    lines_inferred: 0,
    lines_kernel: 0,
    nodes: 0,
    nodes_exact: 0,
    nodes_inferred: 0,
    nodes_kernel: 0,
  },
  aligning: false,
  notes: [],
};

test("a kernel pane shows the kernel's lines of the output code", () => {
  const content = contentOf(
    picture,
    { stage: "kernel", file: null, hops: 0 },
    kernel("cpp_fused_0", 20),
  );
  assert.ok(content.kind === "code");
  assert.deepEqual(
    [content.first, content.last, content.key, content.language],
    [20, 30, "code", "cpp"],
  );
});

test("a stage without a file says why", () => {
  const content = contentOf(picture, { stage: "source", file: null, hops: 0 }, null);
  assert.ok(content.kind === "empty");
  assert.match(content.why, /Upload the source/);
});

test("slices count lines from one and keep the last", () => {
  const text = "a\nb\nc\nd\n";
  assert.equal(slice(text, 2, 3), "b\nc");
  assert.equal(slice(text, 1, 9), text);
  assert.equal(slice("a\nb", 2, 2), "b");
  assert.equal(slice("a\nb", 5, 6), "");
});

test("of a library's kernel the call that is looked at is shown, else its first", () => {
  const two = kernel("extern_kernels.mm", null);
  two.calls.push({
    handle: 4,
    line: 95,
    permalink: "def",
    fx: [],
    time_us: null,
    measured: false,
    instances: [],
  });
  const pane = { stage: "kernel", file: null, hops: 0 };
  for (const [call, first, last] of [
    [null, 78, 94],
    [two.calls[1] ?? null, 83, 99],
  ] as const) {
    const content = contentOf(picture, pane, two, call);
    assert.ok(content.kind === "code");
    assert.deepEqual([content.first, content.last, content.key], [first, last, "code"]);
  }
});

test("the call looked at is the chosen one, the one selected, or the first that computes", () => {
  const two = kernel("extern_kernels.mm", null);
  two.calls.push({
    handle: 4,
    line: 95,
    permalink: "def",
    fx: [],
    time_us: null,
    measured: false,
    instances: [],
  });
  const index = new LinkIndex({
    engine: "1",
    entities: ["kernel:extern_kernels.mm", "fx:mm", "fx:mm_1"],
    stages: {
      code: {
        lines: [90, 90, 95, 95],
        entities: [0, 1, 0, 2],
        confidence: [3, 3, 3, 3],
        call: [-1, -1, -1, -1],
      },
      post_grad: { lines: [7], entities: [2], confidence: [3], call: [-1] },
    },
  });
  const line = (key: string, at: number, handle: number | null = null) =>
    callOf(index, index.selectLine(key, at), two, handle)?.line;
  assert.equal(line("post_grad", 7), 95);
  assert.equal(line("code", 95), 95);
  assert.equal(line("post_grad", 7, 1), 90);
  assert.equal(line("post_grad", 8), undefined);
});

test("a call in a subgraph that is called four times has four instances", () => {
  const inside = { ...kernel("addmm", null), call_count: 4 };
  assert.equal(instancesOf(inside), 4);
  assert.equal(instancesOf(kernel("addmm", null)), 1);
});

test("an instance's time is that of all calls of its region", () => {
  const [call] = kernel("addmm", null).calls;
  assert.ok(call);
  const of = (...instances: number[]) => ({ ...call, instances });
  assert.deepEqual(timesOfInstances([of(1, 2, 3), of(10, 20, 30), of(), of(7, 7)]), [11, 22, 33]);
  assert.deepEqual(timesOfInstances([of(1, 2, 3), of(7, 7)], 2), [7, 7]);
  assert.deepEqual(timesOfInstances([of()]), []);
  assert.deepEqual(timesOfInstances([]), []);
});
