import assert from "node:assert/strict";
import { test } from "node:test";
import type { Links } from "../src/explorer/shapes";
import { EVERY_CALL, firstFrom, knownAt, LinkIndex, within } from "../src/explorer/state/links";

/** Columns from [line, entity, confidence, call] rows. */
function columns(...rows: [number, number, number, number][]) {
  return {
    lines: rows.map((row) => row[0]),
    entities: rows.map((row) => row[1]),
    confidence: rows.map((row) => row[2]),
    call: rows.map((row) => row[3]),
  };
}

// neg of the tutorial, and a kernel that is called twice, for two layers.
const [NEG, MAXIMUM, OP_LOAD, OP_NEG, KERNEL, CALL_1, CALL_2, LAYER_1, LAYER_2] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8,
] as const;
const LINKS: Links = {
  engine: "1",
  entities: [
    "fx:neg",
    "fx:maximum",
    "op:op0.load_1",
    "op:op0.neg",
    "kernel:shared",
    "call:shared:1",
    "call:shared:2",
    "fx:mul",
    "fx:mul_1",
  ],
  stages: {
    post_grad: columns(
      [3, NEG, 3, -1],
      [4, MAXIMUM, 3, -1],
      [8, LAYER_1, 3, -1],
      [9, LAYER_2, 3, -1],
    ),
    "source:/home/user/models.py": columns([7, NEG, 3, -1], [8, MAXIMUM, 3, -1]),
    ir_post: columns([20, OP_LOAD, 3, -1], [20, NEG, 3, -1], [21, OP_NEG, 3, -1], [21, NEG, 3, -1]),
    code: columns(
      [50, KERNEL, 3, -1],
      [51, OP_LOAD, 2, -1],
      [51, NEG, 2, -1],
      [52, OP_NEG, 2, -1],
      [52, NEG, 2, -1],
      [60, LAYER_1, 3, CALL_1],
      [60, LAYER_2, 1, CALL_2],
      [90, KERNEL, 3, -1],
      [90, CALL_1, 3, -1],
    ),
  },
};
const INDEX = new LinkIndex(LINKS);
const lines = (matches: { lines: Int32Array }) => [...matches.lines];

test("an FX line lights what shares its node, sorted", () => {
  const selected = INDEX.selectLine("post_grad", 3);
  assert.deepEqual(lines(INDEX.matches(selected, "source:/home/user/models.py")), [7]);
  assert.deepEqual(lines(INDEX.matches(selected, "ir_post")), [20, 21]);
  assert.deepEqual(lines(INDEX.matches(selected, "code")), [51, 52]);
});

test("a kernel line lights by operation where the other stage has operations", () => {
  const selected = INDEX.selectLine("code", 52);
  assert.deepEqual(lines(INDEX.matches(selected, "ir_post")), [21]);
  assert.deepEqual(lines(INDEX.matches(selected, "post_grad")), [3]);
});

test("a match is as sure as the less sure of its two references", () => {
  const fromKernel = INDEX.selectLine("code", 52);
  assert.equal(knownAt(INDEX.matches(fromKernel, "ir_post"), 21), 2);
  assert.equal(knownAt(INDEX.matches(fromKernel, "ir_post"), 20), 0);
  assert.equal(knownAt(INDEX.matches(INDEX.selectLine("post_grad", 3), "ir_post"), 21), 3);
});

test("a shared kernel's line carries the union of its calls, or one call's", () => {
  const fx = (call: number) =>
    lines(INDEX.matches(INDEX.selectLine("code", 60, call), "post_grad"));
  assert.deepEqual(fx(EVERY_CALL), [8, 9]);
  assert.deepEqual(fx(CALL_1), [8]);
  assert.deepEqual(fx(CALL_2), [9]);
  const layer2 = INDEX.selectLine("post_grad", 9);
  assert.deepEqual(lines(INDEX.matches(layer2, "code", CALL_1)), []);
  assert.deepEqual(lines(INDEX.matches(layer2, "code", CALL_2)), [60]);
  assert.deepEqual([...INDEX.callsOf(layer2, "code")], [CALL_2]);
});

test("what is coarser lights only when nothing finer is shared", () => {
  const definition = INDEX.selectLine("code", 50);
  assert.deepEqual(lines(INDEX.matches(definition, "code")), [50, 90]);
  assert.deepEqual(lines(INDEX.matches(definition, "post_grad")), []);
});

test("a kernel as a whole lights its definition and calls in the code", () => {
  const whole = {
    entities: new Map([
      [KERNEL, 3],
      [LAYER_1, 3],
    ]),
    origin: null,
    wholeKernel: true,
  };
  assert.deepEqual(lines(INDEX.matches(whole, "code")), [50, 90]);
  assert.deepEqual(lines(INDEX.matches(whole, "post_grad")), [8]);
});

test("a line without references selects nothing, an unknown stage matches nothing", () => {
  const nothing = INDEX.selectLine("post_grad", 1);
  assert.equal(nothing.entities.size, 0);
  assert.deepEqual(lines(INDEX.matches(nothing, "ir_post")), []);
  assert.deepEqual(lines(INDEX.matches(INDEX.selectLine("post_grad", 3), "joint")), []);
  assert.equal(INDEX.selectLine("joint", 3).entities.size, 0);
});

test("entities are found by name and named for people", () => {
  const selected = INDEX.selectEntity("fx:neg");
  assert.ok(selected);
  assert.deepEqual(INDEX.namesOf(selected), ["neg"]);
  assert.equal(INDEX.selectEntity("fx:absent"), null);
  assert.deepEqual(INDEX.namesOf(INDEX.selectLine("code", 52)), ["neg"]);
  assert.deepEqual(INDEX.namesOf(INDEX.selectLine("code", 50)), ["shared"]);
});

test("matches are cut to a range and searched", () => {
  const matches = INDEX.matches(INDEX.selectLine("post_grad", 3), "code");
  assert.deepEqual(lines(within(matches, 52, 99)), [52]);
  assert.deepEqual(lines(within(matches, 53, 99)), []);
  assert.equal(firstFrom(matches, 52), 1);
});

test("of a hundred thousand references only those that match are looked at", () => {
  const count = 100_000;
  let looked = 0;
  const counted = new Proxy(
    Array.from({ length: count }, (_, at) => at),
    {
      get(lines, name) {
        looked += 1;
        return Reflect.get(lines, name);
      },
    },
  );
  const rows = Array.from({ length: count }, (_, at) => at);
  const big = new LinkIndex({
    engine: "1",
    entities: rows.map((at) => `fx:n${at % 1000}`),
    stages: {
      post_grad: columns([1, 5, 3, -1]),
      code: {
        lines: counted,
        entities: rows.map((at) => at % 1000),
        confidence: rows.map(() => 3),
        call: rows.map(() => -1),
      },
    },
  });
  big.matches(big.selectLine("post_grad", 1), "code"); // builds the index
  looked = 0;
  const selected = big.selectLine("post_grad", 1);
  assert.equal(big.matches(selected, "code").lines.length, 100);
  assert.equal(looked, 100);
  assert.equal(big.matches(selected, "code").lines.length, 100);
  assert.equal(looked, 100, "a selection is worked out once");
});
