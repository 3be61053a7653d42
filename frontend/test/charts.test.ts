import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { CONFIG } from "../src/charts/config";

test("charts are sent nowhere", () => {
  assert.equal(CONFIG.showSendToCloud, false);
  assert.equal(CONFIG.plotlyServerURL, "");
  assert.equal(CONFIG.displaylogo, false);
});

test("only trace types that the bundle holds are drawn: others would silently be scatter", async () => {
  const [bars, map, plot] = await Promise.all(
    ["bars", "map", "plot"].map((name) => readFile(`src/charts/${name}.ts`, "utf8")),
  );
  const drawn = new Set([
    ...[...(bars ?? "").matchAll(/type: "(\w+)",\s+orientation/g)].map((m) => m[1]),
    ...[...(/type Shape = ([^;]+);/.exec(map ?? "")?.[1] ?? "").matchAll(/"(\w+)"/g)].map(
      (m) => m[1],
    ),
  ]);
  const held = new Set([...(plot ?? "").matchAll(/plotly\.js\/lib\/(\w+)"/g)].map((m) => m[1]));
  assert.deepEqual([...drawn].sort(), ["bar", "icicle", "treemap"]);
  for (const type of drawn) assert.ok(held.has(type), `${type} is not in the bundle`);
});
