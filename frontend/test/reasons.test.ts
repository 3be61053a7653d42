import assert from "node:assert/strict";
import { test } from "node:test";
import { LinkIndex, type Selected } from "../src/explorer/state/links";
import { reasonOf } from "../src/explorer/state/reasons";

const ENTITIES = ["fx:mul", "op:op3.mul", "fx:add", "call:k:1", "call:k:2", "dyn:x"];

/** Rows of a stage: line, entity, how it is known, call. */
function columns(rows: [number, number, number, number][]) {
  const column = (at: 0 | 1 | 2 | 3) => rows.map((row) => row[at]);
  return { lines: column(0), entities: column(1), confidence: column(2), call: column(3) };
}

function indexOf(code: [number, number, number, number][]): LinkIndex {
  const stages = {
    code: columns(code),
    ir_post: columns([
      [7, 0, 2, -1],
      [7, 1, 3, -1],
    ]),
    dynamo: columns([
      [2, 0, 1, -1],
      [2, 5, 3, -1],
    ]),
  };
  return new LinkIndex({ engine: "2", entities: ENTITIES, stages });
}

const lit = (key: string, line: number) => ({ stage: "kernel", title: "Kernel", key, line });

test("a kernel's line tells the operation that it is, and the node of that operation", () => {
  const index = indexOf([
    [5, 0, 2, -1],
    [5, 1, 2, -1],
  ]);
  const reason = reasonOf(index, index.selectEntity("fx:mul") as Selected, lit("code", 5));
  assert.equal(reason?.entity, "fx:mul");
  assert.equal(reason?.known, 2);
  assert.deepEqual(reason?.why, [
    "The line is op3.mul (inferred), which belongs to mul (IR line 7).",
  ]);
  assert.deepEqual(reason?.others, []);
});

test("an answer that is as likely is told, unless it is another call's", () => {
  const selected = (index: LinkIndex) => index.selectEntity("fx:mul") as Selected;
  const alike = indexOf([
    [5, 0, 2, 3],
    [5, 2, 2, 3],
  ]);
  assert.deepEqual(reasonOf(alike, selected(alike), lit("code", 5))?.others, ["add"]);
  const apart = indexOf([
    [5, 0, 2, 3],
    [5, 2, 2, 4],
  ]);
  assert.deepEqual(reasonOf(apart, selected(apart), lit("code", 5))?.others, []);
});

test("what only the user's line tells is said to be one of several", () => {
  const index = indexOf([]);
  const reason = reasonOf(index, index.selectEntity("fx:mul") as Selected, lit("dynamo", 2));
  assert.match(reason?.why[0] ?? "", /nothing says which/);
});

test("a line that shares nothing with the selection has no reason", () => {
  const index = indexOf([[5, 2, 3, -1]]);
  assert.equal(reasonOf(index, index.selectEntity("fx:mul") as Selected, lit("code", 5)), null);
});
