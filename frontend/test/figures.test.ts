import assert from "node:assert/strict";
import { test } from "node:test";
import { ago, bytes, count, microseconds, share, unitOfTime } from "../src/shared/figures";

const plain = (text: string) => text.replace(/\u202f/g, " ");

test("durations take the unit that suits them", () => {
  assert.deepEqual(
    [0.8, 13.26, 999.9, 5400, 1.2e7, 0].map((value) => plain(microseconds(value))),
    ["0.80 µs", "13.3 µs", "1.00 ms", "5.40 ms", "12.0 s", "0 µs"],
  );
});

test("sizes, shares and counts read as people write them", () => {
  assert.equal(plain(bytes(512)), "512 B");
  assert.equal(plain(bytes(5 * 1024 * 1024)), "5.00 MiB");
  assert.equal(plain(share(0.047)), "4.7 %");
  assert.equal(plain(share(1)), "100 %");
  assert.equal(plain(share(0.0004)), "< 0.1 %");
  assert.equal(count(1, "kernel"), "1 kernel");
  assert.equal(count(1200, "line"), "1\u202f200 lines");
});

test("ages are coarse", () => {
  const now = new Date("2026-01-02T00:00:00Z");
  const before = (seconds: number) => ago(new Date(now.getTime() - seconds * 1000), now);
  assert.deepEqual([5, 65, 180, 7200, 200000].map(before), [
    "just now",
    "1 min ago",
    "3 min ago",
    "2 h ago",
    "2 days ago",
  ]);
});

test("an axis of times has the unit of its longest", () => {
  assert.deepEqual(
    [0.5, 999, 1000, 2.5e6].map((most) => unitOfTime(most).unit),
    ["µs", "µs", "ms", "s"],
  );
});
