import assert from "node:assert/strict";
import { test } from "node:test";
import { differences, level as levelling, withoutNumbers } from "../src/explorer/code/level";
import { atOnce } from "../src/shared/frames";

const level = (...sides: Parameters<typeof levelling>) => atOnce(levelling(...sides));

const same = (...texts: string[]) => texts.map((text) => ({ tokens: [text], text }));

test("equal lines stand side by side, and what only one side has leaves room on the other", () => {
  const [left, right] = level(same("a", "b", "c"), same("a", "x", "y", "c", "z"));
  assert.deepEqual([...left.only], [2]);
  assert.deepEqual([...right.only], [2, 3, 5]);
  assert.deepEqual(
    [...left.spaces],
    [
      [3, 1],
      [4, 1],
    ],
  );
  assert.deepEqual([...right.spaces], []);
});

test("lines of one node stand level though their words differ, and are marked", () => {
  const [left, right] = level(
    [{ tokens: ["fx:view"], text: "view = aten.view(x)" }],
    [
      { tokens: ["new"], text: "new" },
      { tokens: ["fx:view"], text: "view = aten.reshape(x)" },
    ],
  );
  assert.deepEqual([...left.changed], [[1, [[12, 16]]]]);
  assert.deepEqual([...right.changed], [[2, [[12, 19]]]]);
  assert.deepEqual([...left.spaces], [[1, 1]]);
});

test("what both sides have once but in another order is moved, not gone and new", () => {
  const [left, right] = level(
    same("op0: body", "op1: body", "op1: more", "op2: body", "]", "x"),
    same("op2: body", "]", "op0: body", "op1: body", "op1: more", "y"),
  );
  assert.deepEqual(Object.fromEntries(left.moved), { 4: 1, 5: 2 });
  assert.deepEqual(Object.fromEntries(right.moved), { 1: 4, 2: 5 });
  assert.deepEqual([...left.only], [6]);
  assert.deepEqual([...right.only], [6]);
});

test("every pair has equal tokens and both sides increase, whatever the texts", () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % below;
  };
  for (let round = 0; round < 200; round++) {
    const make = () => Array.from({ length: random(40) }, () => `t${random(12)}`);
    const [left, right] = [make(), make()];
    const [one, other] = level(
      left.map((token) => ({ tokens: [token], text: token })),
      right.map((token) => ({ tokens: [token], text: token })),
    );
    const rows = (count: number, spaces: Map<number, number>) =>
      count + [...spaces.values()].reduce((sum, more) => sum + more, 0);
    assert.equal(rows(left.length, one.spaces), rows(right.length, other.spaces));
  }
});

test("lines that differ by the numbers of their names stand side by side", () => {
  const line = (text: string) => ({ tokens: [text, withoutNumbers(text)], text });
  const [left, right] = level(
    ["a = 1", "mul_4 = aten.mul(add_3, 2)", "z = 0"].map(line),
    ["a = 1", "neg_2 = aten.neg(a)", "mul_9 = aten.mul(add_7, 2)", "z = 0"].map(line),
  );
  assert.deepEqual([...right.only], [2]);
  assert.deepEqual(left.changed.get(2), [
    [0, 5],
    [17, 22],
  ]);
  assert.equal(left.beside.get(2), 3);
});

test("numbers that mean something stay", () => {
  assert.equal(
    withoutNumbers("tmp3 = tl.full([1], 0.5, tl.float32)"),
    "tmp# = tl.full([1], 0.5, tl.float32)",
  );
  assert.equal(withoutNumbers("  buf12 = empty((4, 256))"), "buf# = empty((4, 256))");
});

test("numbers of lines have one format", () => {
  const lines = (many: number) => same(...Array.from({ length: many }, (_, at) => `${at} ${many}`));
  const sides = level(lines(1234), lines(5678));
  assert.equal(
    differences(...sides),
    "1\u202f234 lines only on the left, 5\u202f678 only on the right",
  );
});
