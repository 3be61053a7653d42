import assert from "node:assert/strict";
import { test } from "node:test";
import { restOf } from "../src/explorer/code/folded-rest";

test("what lies between lit lines and their surroundings is folded", () => {
  assert.deepEqual(restOf([10, 12, 30], 40), [
    { first: 1, last: 7 },
    { first: 15, last: 27 },
    { first: 33, last: 40 },
  ]);
});

test("short gaps stay, and nothing is folded when nothing lights", () => {
  assert.deepEqual(restOf([4, 10], 14), []);
  assert.deepEqual(restOf([], 1000), []);
  assert.deepEqual(restOf([2000], 1000), []);
});
