// A selection put into words and counts for the status line. Pure.

import { naming } from "../../shared/naming";
import type { GraphPicture } from "../shapes";
import type { Matches, Place, Selected } from "./links";

/** Stages where the least sure is no kernel's, but one of several nodes of a line. */
const CANDIDATES = naming("dynamo");

/** Lit lines over all panes, without the selected line itself, and how surely they are known. */
export function summed(lit: readonly { key: string; matches: Matches }[], selected: Selected) {
  const { origin } = selected;
  let [lines, leastKnown, bestKnown] = [0, 3, 0];
  for (const { key, matches } of lit) {
    matches.lines.forEach((line, at) => {
      if (origin?.key === key && origin.first <= line && line <= origin.last) return;
      lines += 1;
      if (matches.known[at] === 1 && CANDIDATES.has(key)) return; // one of several candidates
      leastKnown = Math.min(leastKnown, matches.known[at] ?? 0);
      bestKnown = Math.max(bestKnown, matches.known[at] ?? 0);
    });
  }
  return { lines, leastKnown, bestKnown };
}

/** "models.py:26", "Kernel line 52", "FX post-grad line 17". */
export function placeName(picture: GraphPicture, { key, first: from, last: to }: Place): string {
  const lines = to > from ? `${from}–${to}` : `${from}`;
  if (key.startsWith("source:")) return `${key.split("/").pop()}:${lines}`;
  const inKernel = picture.kernels.some(
    ({ first, last }) => first !== null && first <= from && from <= (last ?? 0),
  );
  const id = key === "code" ? (inKernel ? "kernel" : "wrapper") : key;
  const stage = picture.stages.find((each) => each.id === id);
  return `${stage?.title ?? id} ${to > from ? "lines" : "line"} ${lines}`;
}
