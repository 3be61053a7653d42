// What the explorer shows at first: the line it opens on, colours of lines, short names of kernels.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphPicture, Kernel, Links } from "../src/explorer/shapes";
import { LinkIndex } from "../src/explorer/state/links";
import { openingTarget } from "../src/explorer/state/opening";
import { PLAIN, Tints } from "../src/explorer/state/tints";

/** Line, entity, confidence. */
const columns = (...rows: [number, number, number][]) => ({
  lines: rows.map((row) => row[0]),
  entities: rows.map((row) => row[1]),
  confidence: rows.map((row) => row[2]),
  call: rows.map(() => -1),
});
const links: Links = {
  engine: "1",
  entities: ["fx:view", "fx:neg", "fx:mul"],
  stages: {
    "source:/a.py": columns([4, 0, 3], [5, 1, 3], [6, 2, 3]),
    post_grad: columns([1, 0, 3], [1, 1, 3], [2, 0, 3], [3, 1, 3], [4, 2, 3]),
    code: columns([10, 1, 3], [11, 1, 2], [12, 1, 2], [12, 2, 2], [13, 1, 1]),
  },
};
const index = new LinkIndex(links);
const kernel = (name: string) => ({ name, first: 10, last: 20, calls: [] }) as unknown as Kernel;
const picture = {
  stages: [{ id: "source", files: [{ path: "/a.py" }] }],
  kernels: [kernel("triton_poi_fused_neg_0")],
  opens: null,
} as unknown as GraphPicture;

test("a page opens on the dearest line, else on the first that a kernel computes", () => {
  assert.deepEqual(openingTarget(picture, index, []), { stage: "source", file: "/a.py", line: 5 });
  const timed = { ...picture, opens: { path: "/a.py", line: 6 } };
  assert.deepEqual(openingTarget(timed, index, []), { stage: "source", file: "/a.py", line: 6 });
  assert.equal(openingTarget(picture, new LinkIndex({ ...links, stages: {} }), []), null);
  const error = { line: 12, start: 0, end: 4, message: "no such function", kernel: "k" };
  assert.deepEqual(openingTarget(timed, index, [error]), { stage: "kernel", line: 12 });
});

test("all lines that one source line became have its colour", () => {
  const tints = new Tints(index, ["/a.py"]);
  const [view, neg, mul] = [4, 5, 6].map((line) => tints.of("source:/a.py", line));
  assert.equal(new Set([view, neg, mul, PLAIN]).size, 4);
  const of = (stage: string, lines: number[]) => lines.map((line) => tints.of(stage, line));
  assert.deepEqual(of("post_grad", [1, 2, 3, 4, 5]), [PLAIN, view, neg, mul, PLAIN]);
  assert.deepEqual(of("code", [11, 12, 13]), [neg, PLAIN, PLAIN], "shared or unsure: none");
});

test("without sources the nodes give the colours", () => {
  const tints = new Tints(index, []);
  const [view, neg, mul] = [2, 3, 4].map((line) => tints.of("post_grad", line));
  assert.equal(new Set([view, neg, mul, PLAIN]).size, 4);
  assert.equal(tints.of("code", 11), neg);
});
