import assert from "node:assert/strict";
import { test } from "node:test";
import { Text } from "@codemirror/state";
import { type Folding, GAPS, HEADS } from "../src/explorer/code/folded-runs";
import { stepOf } from "../src/explorer/code/heat";

/** The lines of runs, which are where the positions of the runs say. */
function linesOf(folding: Folding, lines: string[]): { first: number; last: number }[] {
  const doc = Text.of(lines);
  return folding
    .runsIn(doc, () => [])
    .map(({ first, last, from, to }) => {
      assert.deepEqual([from, to], [doc.line(first).from, doc.line(last).to]);
      return { first, last };
    });
}

test("the head of a scheduler node ends where its body, or what it is made of, begins", () => {
  const fused = [
    "op0_op1: FusedSchedulerNode(SchedulerNode,SchedulerNode)",
    "op0_op1.writes =",
    "    [   MemoryDep('buf0', c0, {c0: 8})]",
    "op0_op1.met_dependencies = []",
    "op0_op1.snodes[0] =",
    "op0: SchedulerNode(ComputedBuffer)",
    "op0.writes = [MemoryDep('buf0', c0, {c0: 8})]",
    "op0.outputs = [",
    "]",
    "class op0_loop_body:",
    "    index0 = p0",
    "",
    "op2: ExternKernelSchedulerNode(ExternKernelOut)",
    "op2.writes = [StarDep(name='buf2', mode=None)]",
    "op2.node.kernel = extern_kernels.mm",
  ];
  assert.deepEqual(linesOf(HEADS, fused), [
    { first: 2, last: 4 },
    { first: 7, last: 9 },
  ]);
});

test("gaps of a rebuilt source are runs of empty lines before a line with text", () => {
  const rebuilt = ["", "", "", "a", "", "b", "", " ", "", "", "c", "", "", ""];
  assert.deepEqual(linesOf(GAPS, rebuilt), [
    { first: 1, last: 3 },
    { first: 7, last: 10 },
  ]);
});

test("a line without time is cold, the hottest step is the fifth", () => {
  assert.deepEqual([0, 0.001, 0.03, 0.1, 0.2, 0.9].map(stepOf), [0, 1, 2, 3, 4, 5]);
});
