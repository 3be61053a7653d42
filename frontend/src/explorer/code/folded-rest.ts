// Folds everything but highlighted lines and a few around them, for files in which a selection is
// ten lines out of twenty thousand.
import type { Range } from "../state/links";
import type { Folding } from "./folded-runs";

/** Lines that stay before and after a highlighted one. */
const AROUND = 2;
/** Fewer lines are not folded. */
const LEAST = 3;

/** The stretches between lines that stay; none if nothing is highlighted. Lines count from 1. */
export function restOf(lit: Iterable<number>, count: number): Range[] {
  const runs: Range[] = [];
  let next = 1;
  let any = false;
  for (const line of lit) {
    if (line < 1 || line > count) continue;
    any = true;
    if (line - AROUND - next >= LEAST) runs.push({ first: next, last: line - AROUND - 1 });
    next = Math.max(next, line + AROUND + 1);
  }
  if (any && count + 1 - next >= LEAST) runs.push({ first: next, last: count });
  return any ? runs : [];
}

export const REST: Folding = {
  runsIn: (doc, lit) =>
    restOf(lit(), doc.lines).map((run) => ({
      ...run,
      from: doc.line(run.first).from,
      to: doc.line(run.last).to,
    })),
  words: "that the selection does not light",
  key: "o",
};
