import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphPicture, Kernel, Links } from "../src/explorer/shapes";
import { callOf } from "../src/explorer/state/follow";
import { LinkIndex } from "../src/explorer/state/links";
import { ExplorerState } from "../src/explorer/state/state";

const file = (path: string, artifact: number) => ({
  artifact,
  path,
  lines: 100,
  first: 1,
  last: 100,
  derived: false,
});
const stage = (id: string, ...files: ReturnType<typeof file>[]) => ({
  id,
  title: id,
  language: "python",
  files,
});
const kernel = (name: string, first: number) =>
  ({ name, kind: "triton", category: "", first, last: first + 9, calls: [] }) as unknown as Kernel;
const picture = {
  run: { id: "r", name: "r" },
  graph: { slug: "g", name: "g", direction: "forward", node_count: 2 },
  stages: [
    stage("source", file("/a/one.py", 1), file("/a/two.py", 2)),
    stage("post_grad", file("fx.py", 3)),
    stage("kernel", file("output_code.py", 4)),
  ],
  kernels: [kernel("k0", 10), kernel("k1", 30)],
  instances: [],
  graph_time_us: null,
  coverage: {},
  notes: [],
  aligning: false,
} as unknown as GraphPicture;

/** Line, entity, confidence. */
const columns = (...rows: [number, number, number][]) => ({
  lines: rows.map((row) => row[0]),
  entities: rows.map((row) => row[1]),
  confidence: rows.map((row) => row[2]),
  call: rows.map(() => -1),
});
const links: Links = {
  engine: "1",
  entities: ["fx:add", "fx:mul"],
  stages: {
    "source:/a/one.py": columns([5, 0, 3]),
    "source:/a/two.py": columns([7, 1, 3]),
    post_grad: columns([1, 0, 3], [2, 1, 3]),
    code: columns([11, 0, 3], [31, 1, 2], [32, 1, 2]),
  },
};

function opened(of = picture, through = links): ExplorerState {
  const state = new ExplorerState(of, new LinkIndex(through));
  const panes = ["source", "post_grad", "kernel"].map((id) => ({ stage: id, file: null, hops: 0 }));
  state.restore({
    panes,
    kernel: null,
    handle: null,
    selected: null,
    instance: null,
    compared: null,
  });
  return state;
}

test("a selected line leads kernel and file panes to what it became", () => {
  const state = opened();
  assert.equal(state.kernel?.name, "k0");
  state.select({ stage: "post_grad", line: 2 });
  assert.equal(state.kernel?.name, "k1");
  const [source, fx, code] = state.panes;
  assert.ok(source && fx && code);
  assert.equal(source.file, "/a/two.py");
  assert.deepEqual([...state.marksIn(source).pinned.lines], [7]);
  assert.deepEqual([...state.marksIn(code).pinned.lines], [31, 32]);
  assert.deepEqual(state.marksIn(fx).origin, { first: 2, last: 2 });
  assert.deepEqual(
    state.computing.map(({ name }) => name),
    ["k1"],
  );
});

test("a line leads to the call of a library that takes most of its time", () => {
  const call = (handle: number, line: number, time_us: number) => ({
    handle,
    line,
    fx: [],
    time_us,
    instances: [],
  });
  const calls = [call(1, 50, 2), call(2, 51, 90)];
  const library = { ...kernel("mm", 0), first: null, last: null, calls, time_us: 92 };
  const of = { ...kernel("k1", 30), calls: [call(3, 60, 5)], time_us: 5 };
  const code = columns([31, 1, 2], [50, 1, 3], [51, 1, 3], [60, 1, 3]);
  const timed = { ...picture, kernels: [of, library] } as unknown as GraphPicture;
  const state = opened(timed, { ...links, stages: { ...links.stages, code } });
  state.kernel = null;
  state.select({ stage: "post_grad", line: 2 });
  assert.equal(state.address(null).kernel, "mm");
  assert.equal(callOf(state.index, state.selected, state.kernel, null)?.handle, 2);
});

test("equal graphs can be chosen one by one, with times or without", () => {
  const equal = ["g", "h"].map((slug) => ({ slug, name: slug, direction: "forward" }));
  const call = { handle: 1, line: 50, fx: [], time_us: 5, instances: [2, 3] };
  const timed = { ...kernel("k0", 10), calls: [call] };
  const of = (kernels: unknown[]) =>
    opened({ ...picture, kernels, instances: equal } as unknown as GraphPicture);
  assert.deepEqual(of([timed]).instances, [2, 3]);
  const state = of(picture.kernels);
  assert.deepEqual(state.instances, [null, null]);
  state.restore({ ...state.address(null), instance: 2 });
  assert.equal(state.instance, 2);
  state.restore({ ...state.address(null), instance: 3 });
  assert.equal(state.instance, null);
});

test("what is pointed at lights beside the selection and goes with it", () => {
  const state = opened();
  const [source, fx] = state.panes;
  assert.ok(source && fx);
  state.select({ stage: "post_grad", line: 1 });
  assert.ok(state.point(fx, 2));
  assert.ok(!state.point(fx, 2), "the same line changes nothing");
  assert.equal(state.marksIn(fx).hovered.lines[0], 2);
  state.select(null);
  assert.ok(state.point(fx, null));
  assert.equal(state.marksIn(source).pinned.lines.length, 0);
});

test("an address that names nothing says so", () => {
  const state = opened();
  const panes = state.panes.map((pane) => ({ ...pane }));
  state.restore({
    panes,
    kernel: "k9",
    handle: null,
    selected: null,
    instance: null,
    compared: null,
  });
  assert.equal(state.trouble, "This graph has no kernel k9.");
  state.select({ entity: "fx:gone" });
  assert.equal(state.trouble, "Nothing in this graph is linked to fx:gone.");
});

test("panes are added, turned and closed, and the last one stays", () => {
  const state = opened();
  const [source, fx, code] = state.panes;
  assert.ok(source && fx && code);
  assert.equal(state.closePane(fx), source);
  assert.equal(state.addPane(source)?.stage, "post_grad");
  assert.equal(state.paneFor("ir_pre")?.stage, "ir_pre", "there is room for a fourth pane");
  assert.equal(state.paneFor("wrapper"), code, "then the kernel pane gives way first");
  for (const pane of [...state.panes].slice(1)) state.closePane(pane);
  assert.equal(state.closePane(source), null);
  assert.deepEqual(state.panes, [source]);
});
