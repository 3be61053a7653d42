import assert from "node:assert/strict";
import { test } from "node:test";
import type { GraphPicture, Kernel, Links } from "../src/explorer/shapes";
import { chainOf } from "../src/explorer/state/chain";
import { computedAgain } from "../src/explorer/state/computed";
import { LinkIndex, linksOfShown } from "../src/explorer/state/links";
import { search } from "../src/explorer/state/search";

// `gelu` is computed in two loop bodies of one kernel and once in another one.
const ENTITIES = [
  "fx:gelu",
  "op:op0.mul",
  "op:op1.mul",
  "op:op5.mul",
  "op:op0.load",
  "src:/u/model.py:7",
  "call:one:1",
  "call:two:2",
  "fx:sum",
  "op:op6.reduction",
  "op:op7.reduction",
  "buf:gelu_out",
  "kernel:one",
] as const;
type Row = [number, (typeof ENTITIES)[number], number, ((typeof ENTITIES)[number] | null)?];
function columns(...rows: Row[]) {
  const at = (name: string | null | undefined) => (name ? ENTITIES.indexOf(name as never) : -1);
  return {
    lines: rows.map((row) => row[0]),
    entities: rows.map((row) => at(row[1])),
    confidence: rows.map((row) => row[2]),
    call: rows.map((row) => at(row[3])),
  };
}
const LINKS: Links = {
  engine: "1",
  entities: [...ENTITIES],
  stages: {
    "source:/u/model.py": columns([7, "fx:gelu", 3], [7, "src:/u/model.py:7", 3]),
    post_grad: columns([3, "fx:gelu", 3], [4, "fx:gelu", 3], [9, "fx:sum", 3]),
    ir_post: columns(
      [20, "op:op0.load", 3],
      [20, "fx:gelu", 2],
      [21, "op:op0.mul", 3],
      [21, "fx:gelu", 2],
      [31, "op:op1.mul", 3],
      [31, "fx:gelu", 2],
      [41, "op:op5.mul", 3],
      [41, "fx:gelu", 2],
      [50, "op:op6.reduction", 3],
      [50, "fx:sum", 2],
      [60, "op:op7.reduction", 3],
      [60, "fx:sum", 2],
    ),
    code: columns(
      [100, "kernel:one", 3],
      [102, "op:op0.mul", 2, "call:one:1"],
      [102, "fx:gelu", 2, "call:one:1"],
      [105, "op:op1.mul", 2, "call:one:1"],
      [105, "fx:gelu", 2, "call:one:1"],
      [205, "op:op5.mul", 2, "call:two:2"],
      [205, "fx:gelu", 2, "call:two:2"],
      [900, "call:one:1", 3],
      [900, "fx:gelu", 1],
      [910, "call:two:2", 3],
    ),
  },
};
const kernel = (name: string, first: number, line: number, fx: string[], time: number): Kernel => ({
  name,
  operations: name,
  number: "",
  kind: "triton",
  category: "pointwise",
  first,
  last: first + 50,
  time_us: time,
  share: null,
  time_source: null,
  call_count: 1,
  calls: [
    {
      handle: name === "one" ? 1 : 2,
      line,
      permalink: "",
      fx,
      time_us: null,
      measured: false,
      instances: [],
    },
  ],
});
const PICTURE = {
  stages: [
    {
      id: "source",
      title: "Source",
      language: "python",
      files: [{ path: "/u/model.py", lines: 9 }],
    },
  ],
  kernels: [kernel("one", 100, 900, ["gelu", "view"], 3), kernel("two", 200, 910, ["gelu"], 1)],
  graph_time_us: 8,
} as unknown as GraphPicture;
const INDEX = new LinkIndex(LINKS);

test("the chain leads from the source line to the time", () => {
  const chain = chainOf(INDEX, PICTURE, INDEX.selectLine("source:/u/model.py", 7));
  const listed = Object.fromEntries(
    chain.steps.map((step) => [step.title, step.links.map((link) => link.label)]),
  );
  assert.deepEqual(listed, {
    "Your line": ["model.py:7"],
    Dynamo: [],
    "FX received": [],
    "FX post-grad": ["gelu"],
    "ops.*": ["op0", "op0", "op1", "op5"],
    "Kernel lines in 2 kernels": ["102", "105", "205"],
    "Wrapper calls": ["900", "910"],
    "Time a step": ["3.00\u202fµs", "1.00\u202fµs"],
  });
});

test("of a kernel with several calls only those of the selection are counted", () => {
  const [one, two] = PICTURE.kernels as [Kernel, Kernel];
  const shared = {
    ...one,
    calls: [
      ...one.calls,
      {
        handle: 9,
        line: 905,
        permalink: "",
        fx: [],
        time_us: null,
        measured: false,
        instances: [],
      },
    ],
  };
  const picture = { ...PICTURE, kernels: [shared, two] };
  const chain = chainOf(INDEX, picture, INDEX.selectLine("source:/u/model.py", 7));
  const times = chain.steps.at(-1)?.links.map(({ label, note }) => [label, note]);
  assert.deepEqual(times, [
    ["≈ 1.50\u202fµs", "18.8\u202f% · 1 of 2 calls, 3.00\u202fµs · one"],
    ["1.00\u202fµs", "12.5\u202f% · two"],
  ]);
});

test("calls that have times of their own count by them", () => {
  const [one, two] = PICTURE.kernels as [Kernel, Kernel];
  const own = one.calls.map((call) => ({ ...call, time_us: 2.5, measured: true, instances: [] }));
  const other = {
    handle: 9,
    line: 905,
    permalink: "",
    fx: [],
    time_us: 0.5,
    measured: true,
    instances: [],
  };
  const picture = { ...PICTURE, kernels: [{ ...one, calls: [...own, other] }, two] };
  const chain = chainOf(INDEX, picture, INDEX.selectLine("source:/u/model.py", 7));
  const times = chain.steps.at(-1)?.links.map(({ label }) => label);
  assert.deepEqual(times, ["2.50\u202fµs", "1.00\u202fµs"]);
});

test("a kernel whose comments name a node that another one computes takes none of its time", () => {
  const [one, two] = PICTURE.kernels as [Kernel, Kernel];
  const reads = { ...two, calls: two.calls.map((call) => ({ ...call, fx: ["sum"] })) };
  const line = INDEX.selectLine("source:/u/model.py", 7);
  const chain = chainOf(INDEX, { ...PICTURE, kernels: [one, reads] }, line);
  assert.deepEqual(
    chain.steps.at(-1)?.links.map(({ label }) => label),
    ["3.00\u202fµs"],
  );
});

test("and back: from a kernel's line to the source line", () => {
  const chain = chainOf(INDEX, PICTURE, INDEX.selectLine("code", 205));
  const [source] = chain.steps;
  assert.deepEqual(source?.links[0]?.place, {
    stage: "source",
    key: "source:/u/model.py",
    line: 7,
    file: "/u/model.py",
    kernel: null,
    handle: null,
  });
});

test("what is computed more than once is told, a reduction in steps is not", () => {
  assert.deepEqual(computedAgain(INDEX, PICTURE.kernels, ["fx:gelu", "fx:sum"]), [
    "gelu is computed 3 times, in 2 kernels.",
  ]);
});

test("the search box finds kernels, nodes, buffers and lines of sources", () => {
  const found = (query: string) => search(query, PICTURE, INDEX).map((one) => [one.kind, one.name]);
  assert.deepEqual(found("gelu"), [
    ["FX node", "gelu"],
    ["buffer", "gelu_out"],
  ]);
  assert.deepEqual(found("ONE"), [["kernel", "one"]]);
  assert.deepEqual(found("model.py:7"), [["source", "/u/model.py:7"]]);
  assert.deepEqual(found("  "), []);
});

test("a text has no links that were made for another one of its stage", () => {
  const shown = (digest: string) => [{ id: "post_grad", files: [{ digest }] }] as never;
  const links = { ...LINKS, stages: { ...LINKS.stages } };
  links.stages.post_grad = { ...columns([3, "fx:gelu", 3]), digest: "a" };
  assert.deepEqual(Object.keys(linksOfShown(links, shown("a")).stages), Object.keys(links.stages));
  const left = Object.keys(links.stages).filter((stage) => stage !== "post_grad");
  assert.deepEqual(Object.keys(linksOfShown(links, shown("b")).stages), left);
});
