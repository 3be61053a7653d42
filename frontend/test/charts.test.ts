import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { CONFIG } from "../src/charts/config";
import { rowNames } from "../src/charts/row-names";

test("rows of a query are named by the columns that tell them apart", () => {
  const names = (rows: string[][], most = 60) =>
    rowNames({ columns: ["run", "kernel", "line"], rows, numeric: [] }, most);
  const kernels = [
    ["a", "add", "m.py:1"],
    ["a", "mul", "m.py:1"],
  ];
  assert.deepEqual(names(kernels), ["add", "mul"]);
  assert.deepEqual(names([...kernels, ["b", "add", "m.py:1"]]), ["a · add", "a · mul", "b · add"]);
  const long = "triton_poi_fused_add_mul_relu";
  assert.deepEqual(
    names(
      [
        ["a", `${long}_1_backward`, ""],
        ["a", `${long}_2_backward`, ""],
      ],
      20,
    ),
    ["triton_poi_…backward 1", "triton_poi_…backward 2"],
  );
});

test("charts are sent nowhere", () => {
  assert.equal(CONFIG.showSendToCloud, false);
  assert.equal(CONFIG.plotlyServerURL, "");
  assert.equal(CONFIG.displaylogo, false);
});

test("only trace types that the bundle holds are drawn: others would silently be scatter", async () => {
  const [bars, map, plot] = await Promise.all(
    ["bars", "map", "plot"].map((name) => readFile(`src/charts/${name}.ts`, "utf8")),
  );
  const types = `${bars}${map}`.matchAll(/type: "(\w+)",\s+(?:orientation|ids)/g);
  const drawn = new Set([...types].map((m) => m[1]));
  const held = new Set([...(plot ?? "").matchAll(/plotly\.js\/lib\/(\w+)"/g)].map((m) => m[1]));
  assert.deepEqual([...drawn].sort(), ["bar", "treemap"]);
  for (const type of drawn) assert.ok(held.has(type), `${type} is not in the bundle`);
});
