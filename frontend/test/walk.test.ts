import assert from "node:assert/strict";
import { test } from "node:test";
import type { Kernel } from "../src/explorer/shapes";
import { stopAfter, stopsOf, type View } from "../src/explorer/state/walk";

function view(pane: string, lines: number[], more: Partial<View<string>> = {}): View<string> {
  const matches = {
    lines: Int32Array.from(lines),
    known: new Uint8Array(lines.length),
    entities: new Int32Array(lines.length),
  };
  return { pane, kernel: null, file: null, matches, origin: null, ...more };
}

const kernel = (name: string) => ({ name }) as Kernel;

test("the walk goes through all panes and wraps, and starts in the pane at hand", () => {
  const stops = stopsOf([
    view("source", [7]),
    view("fx", [3, 4, 5], { origin: { first: 3, last: 4 } }),
    view("kernel", [40]),
  ]);
  assert.deepEqual(
    stops.map((stop) => [stop.pane, stop.line, stop.place.at, stop.place.of]),
    [
      ["source", 7, 1, 3],
      ["fx", 5, 2, 3],
      ["kernel", 40, 3, 3],
    ],
  );
  const first = stopAfter(stops, null, 1, "fx");
  assert.equal(first?.line, 5);
  const next = stopAfter(stops, first, 1, "fx");
  assert.equal(next?.pane, "kernel");
  assert.equal(stopAfter(stops, next, 1, "kernel")?.pane, "source");
  assert.equal(stopAfter(stops, null, -1, "nowhere")?.pane, "kernel");
  assert.equal(stopAfter([], null, 1, null), null);
});

test("in a kernel pane it goes on to the next kernel, beginning with the one that is shown", () => {
  const [one, two] = [kernel("one"), kernel("two")];
  const stops = stopsOf([
    view("kernel", [40], { kernel: one }),
    view("kernel", [90, 91], { kernel: two }),
  ]);
  const shown = stopAfter(stops, null, 1, "kernel", (stop) => stop.kernel === two);
  assert.deepEqual([shown?.kernel?.name, shown?.line], ["two", 90]);
  const after = stopAfter(stops, shown, 1, "kernel");
  assert.equal(after?.line, 91);
  assert.equal(stopAfter(stops, after, 1, "kernel")?.kernel?.name, "one");
});
