import assert from "node:assert/strict";
import { test } from "node:test";
import type { TimelinePage } from "../src/shared/api";
import { Bars } from "../src/timeline/bars";
import { laneOut, rowAt, TITLE } from "../src/timeline/lanes";
import { around, inside, length, panned, showing, ticks, zoomed } from "../src/timeline/view";

const SPAN = 1000;

test("zooming keeps the moment under the pointer in its place", () => {
  const view = zoomed({ start: 100, end: 300 }, 0.5, 150, SPAN);
  assert.deepEqual(view, { start: 125, end: 225 });
  assert.deepEqual(zoomed(view, 100, 150, SPAN), { start: 0, end: SPAN });
  assert.ok(length(zoomed(view, 1e-12, 150, SPAN)) > 0);
});

test("a view never leaves the trace", () => {
  assert.deepEqual(panned({ start: 0, end: 200 }, -0.5, SPAN), { start: 0, end: 200 });
  assert.deepEqual(panned({ start: 700, end: 900 }, 2, SPAN), { start: 800, end: 1000 });
  assert.deepEqual(inside({ start: -50, end: 2000 }, SPAN), { start: 0, end: SPAN });
  assert.deepEqual(showing({ start: 0, end: 100 }, 500, 10, SPAN), { start: 455, end: 555 });
  assert.deepEqual(showing({ start: 0, end: 100 }, 50, 10, SPAN), { start: 0, end: 100 });
  assert.equal(length(around(500, 10, SPAN, 1.3)), 13);
});

test("a ruler has round moments with units", () => {
  const labels = ticks({ start: 0, end: 1000 }, 500).map(({ label }) => label);
  assert.deepEqual(
    labels,
    ["0", "200", "400", "600", "800"].map((each) => `${each}\u202fµs`),
  );
  const near = ticks({ start: 1_500_000, end: 1_500_001 }, 300);
  assert.ok(near.length >= 2);
  assert.equal(new Set(near.map(({ label }) => label)).size, near.length);
});

test("tracks lie below one another, and a folded one keeps its first row", () => {
  const track = { kind: "thread", events: 1, busy_us: 0 };
  const tracks = [
    { ...track, title: "thread 1", first_row: 0, rows: 3 },
    { ...track, kind: "stream", title: "GPU 0, stream 7", first_row: 3, rows: 1 },
  ];
  const lanes = laneOut(tracks, new Set([0]));
  assert.deepEqual(
    lanes.all.map((lane) => [lane.track.title, lane.rows]),
    [
      ["GPU 0, stream 7", 1],
      ["thread 1", 1],
    ],
  );
  assert.equal(rowAt(lanes, TITLE + 2), 3);
  assert.equal(lanes.rowY[2], -1);
});

test("bars are found by row and time, and gaps between them", () => {
  const bars = new Bars({
    start_us: 0,
    end_us: 100,
    resolution_us: 1,
    names: ["a"],
    categories: ["eager"],
    bars: {
      row: [0, 0, 2],
      start_us: [10, 40, 10],
      us: [10, 5, 50],
      name: [0, -1, 0],
      category: [0, 0, 0],
      event: [7, 8, 12],
      merged: [[1, 3, 2.5]],
    },
  } as unknown as TimelinePage);
  assert.deepEqual(bars.inRow(0, 15, 30), [0, 1]);
  assert.deepEqual(bars.inRow(1, 0, 100), [0, 0]);
  assert.equal(bars.near(0, 22, 3)?.event, 7);
  assert.equal(bars.near(0, 30, 3), null);
  assert.deepEqual(bars.gap(0, 30), { start: 20, us: 20 });
  const merged = bars.bar(1);
  assert.deepEqual([merged.count, merged.busy, merged.name], [3, 2.5, null]);
  assert.equal(bars.beside(7, 1), null);
});
