import assert from "node:assert/strict";
import { test } from "node:test";
import { contentOf, slice } from "../src/explorer/content";
import type { GraphPicture, Kernel } from "../src/explorer/shapes";

const kernel = (name: string, first: number | null): Kernel => ({
  name,
  kind: first === null ? "extern" : "cpp",
  category: "",
  first,
  last: first === null ? null : first + 10,
  time_us: null,
  share: null,
  time_source: null,
  calls: [{ handle: 1, line: 90, permalink: "abc", fx: [] }],
});
const code = {
  artifact: 1,
  path: "output_code.py",
  lines: 100,
  first: 1,
  last: 100,
  derived: false,
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
  graph_time_us: null,
  coverage: {},
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

test("a library's kernel says where it is called", () => {
  const content = contentOf(
    picture,
    { stage: "kernel", file: null, hops: 0 },
    kernel("extern_kernels.mm", null),
  );
  assert.ok(content.kind === "empty");
  assert.deepEqual(content.go && [content.go.stage, content.go.line], ["wrapper", 90]);
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
