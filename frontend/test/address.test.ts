import assert from "node:assert/strict";
import { test } from "node:test";
import { read, write } from "../src/explorer/state/address";
import { OPENED } from "../src/shared/vocabulary";

const STAGES = ["source", "post_grad", "ir_post", "kernel", "wrapper", "code"];

test("no query is the standard view", () => {
  const address = read("", STAGES);
  assert.deepEqual(
    address.panes.map((pane) => pane.stage),
    OPENED,
  );
  assert.equal(address.kernel, null);
  assert.equal(address.selected, null);
});

test("what is written is read again", () => {
  const query =
    "?panes=source,post_grad,source,kernel&file=/home/u/a.py&file=/home/u/b.py&kernel=triton_poi_0:3&sel=post_grad:17";
  const address = read(query, STAGES);
  assert.deepEqual(
    address.panes.map((pane) => pane.file),
    ["/home/u/a.py", null, "/home/u/b.py", null],
  );
  assert.equal(address.kernel, "triton_poi_0");
  assert.equal(address.handle, 3);
  assert.deepEqual(address.selected, { stage: "post_grad", line: 17 });
  assert.equal(write(address), query);
});

test("a selection is a stage's line or an entity", () => {
  const selected = (query: string) => read(query, STAGES).selected;
  assert.deepEqual(selected("?sel=fx:neg"), { entity: "fx:neg" });
  assert.deepEqual(selected("?sel=kernel:134"), { stage: "kernel", line: 134 });
  assert.deepEqual(selected("?sel=call:triton_poi_0:3"), { entity: "call:triton_poi_0:3" });
});

test("the entity of a source line is that line, so that all that comes from it lights", () => {
  const selected = (query: string) => read(query, STAGES).selected;
  const line = { stage: "source", file: "/a/b.py", line: 26 };
  assert.deepEqual(selected("?sel=src:/a/b.py:26"), line);
  assert.deepEqual(selected("?sel=source:/a/b.py:26"), line);
});

test("several lines are a range; one that ends before it begins is its first line", () => {
  const selected = (query: string) => read(query, STAGES).selected;
  assert.deepEqual(selected("?sel=post_grad:17-20"), { stage: "post_grad", line: 17, last: 20 });
  assert.deepEqual(selected("?sel=source:/a/b.py:3-4"), {
    stage: "source",
    file: "/a/b.py",
    line: 3,
    last: 4,
  });
  assert.deepEqual(selected("?sel=post_grad:17-3"), { stage: "post_grad", line: 17 });
  const query = "?panes=source,kernel&sel=source:/a/b.py:3-4";
  assert.equal(write(read(query, STAGES)), query);
});

test("a line of a source names its file when another file's pane comes first", () => {
  const query =
    "?panes=source,source,kernel&file=/home/u/a.py&file=/home/u/b.py&sel=source:/home/u/b.py:26";
  const address = read(query, STAGES);
  assert.deepEqual(address.selected, { stage: "source", line: 26, file: "/home/u/b.py" });
  assert.equal(write(address), query);
  assert.deepEqual(read("?sel=source:26", STAGES).selected, { stage: "source", line: 26 });
});

test("which pane is compared with its neighbour is part of the link", () => {
  const query = "?panes=readable,post_grad&compare=1";
  const address = read(query, ["readable", "post_grad"]);
  assert.equal(address.compared, 0);
  assert.equal(write(address), query);
  assert.equal(read("?compare=0", STAGES).compared, null);
  assert.equal(read("?compare=x", STAGES).compared, null);
});

test("which instance of a region times are of is part of the link", () => {
  const query = "?panes=post_grad,kernel&instance=3";
  const address = read(query, STAGES);
  assert.equal(address.instance, 3);
  assert.equal(write(address), query);
  for (const wrong of ["0", "x", "-1", ""])
    assert.equal(read(`?instance=${wrong}`, STAGES).instance, null);
});

test("unknown stages are left out, and names with odd characters survive", () => {
  assert.deepEqual(
    read("?panes=nonsense,kernel", STAGES).panes.map((pane) => pane.stage),
    ["kernel"],
  );
  const name = "extern<b>&kernels.mm";
  const query = write({
    panes: [],
    kernel: name,
    handle: null,
    selected: null,
    instance: null,
    compared: null,
  });
  assert.equal(read(query, STAGES).kernel, name);
});

test("a graph that was never lowered shows the graphs before it in place of what it lacks", () => {
  const stages = [
    "source",
    "dynamo",
    "pre_grad",
    "readable",
    "post_grad",
    "ir_post",
    "kernel",
    "code",
  ];
  const shown = (...held: string[]) => read("", stages, held).panes.map((pane) => pane.stage);
  assert.deepEqual(shown("source", "dynamo"), ["source", "dynamo", "kernel"]);
  assert.deepEqual(shown("dynamo", "pre_grad"), ["source", "dynamo", "pre_grad"]);
  const standard = ["source", "post_grad", "kernel"];
  assert.deepEqual(shown(), standard);
  assert.deepEqual(shown("dynamo", "post_grad"), standard);
  assert.deepEqual(shown("dynamo", "code", "kernel"), standard);
});

test("widths and the lines in the middle are read again", () => {
  const query = "?panes=source,kernel&width=150,50&middle=,16009&sel=post_grad:17";
  const address = read(query, STAGES);
  assert.deepEqual(
    address.panes.map(({ width, middle }) => [width, middle]),
    [
      [150, undefined],
      [50, 16009],
    ],
  );
  assert.equal(write(address), query);
  assert.equal(read("?panes=source&width=150,50", STAGES).panes[0]?.width, undefined);
});

test("panes are those of the address, or else those remembered, as far as the graph has them", () => {
  const stages = (query: string, held = STAGES) =>
    read(query, STAGES, held, "panes=post_grad,ir_post&width=150,50").panes;
  assert.deepEqual(
    stages("?sel=fx:neg").map(({ stage, width }) => [stage, width]),
    [
      ["post_grad", 150],
      ["ir_post", 50],
    ],
  );
  assert.deepEqual(
    stages("", ["source", "post_grad"]).map(({ stage, width }) => [stage, width]),
    [["post_grad", undefined]],
  );
  assert.equal(stages("?panes=kernel")[0]?.stage, "kernel");
});
