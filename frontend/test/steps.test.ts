import assert from "node:assert/strict";
import { test } from "node:test";
import { level } from "../src/explorer/code/level";
import { stepsOf } from "../src/explorer/panes/steps";
import type { Stage } from "../src/explorer/shapes";
import { atOnce } from "../src/shared/frames";
import { STAGES } from "../src/shared/vocabulary";

function graphWith(...held: string[]): Stage[] {
  const file = { artifact: 1, path: "", lines: 1, first: 1, last: 1, derived: false, digest: "" };
  return STAGES.map(({ id, title, language }) => ({
    id,
    title,
    language,
    files: held.includes(id) ? [{ ...file, kernel: null }] : [],
  }));
}

test("steps are the graphs in their order, each beside the one before, and the IR by itself", () => {
  const steps = stepsOf(graphWith("source", "ir_post", "post_grad", "dynamo", "ir_pre", "code"));
  assert.deepEqual(
    steps.map(({ panes }) => panes),
    [["dynamo"], ["dynamo", "post_grad"], ["ir_pre"], ["ir_pre", "ir_post"]],
  );
});

test("a graph with one text has no steps", () => {
  assert.deepEqual(stepsOf(graphWith("source", "post_grad", "kernel", "code")), []);
});

test("strides differ only between two texts that have them", () => {
  const changed = (one: string, other: string) => {
    const [left, right] = [one, other].map((type) => {
      const text = `neg: "${type}" = torch.ops.aten.neg.default(arg0_1)`;
      return [{ tokens: ["fx:neg"], text }];
    });
    return atOnce(level(left ?? [], right ?? []))[1].changed.size;
  };
  assert.equal(changed("u8[1, 8][8, 1]cuda:0", "u8[1, 8]"), 0);
  assert.equal(changed("u8[1, 8][8, 1]cuda:0", "u8[1, 8][1, 1]cuda:0"), 1);
  assert.equal(changed("u8[1, 8][8, 1]cuda:0", "u8[1, 9]"), 1);
});
