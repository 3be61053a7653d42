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
  const [bars, plot] = await Promise.all(
    ["bars", "plot"].map((name) => readFile(`src/charts/${name}.ts`, "utf8")),
  );
  const types = (bars ?? "").matchAll(/type: "(\w+)",\s+orientation/g);
  const drawn = new Set([...types].map((m) => m[1]));
  const held = new Set([...(plot ?? "").matchAll(/plotly\.js\/lib\/(\w+)"/g)].map((m) => m[1]));
  assert.deepEqual([...drawn].sort(), ["bar"]);
  for (const type of drawn) assert.ok(held.has(type), `${type} is not in the bundle`);
});
