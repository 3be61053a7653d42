// A selection put into words and counts for the status line. Pure.

import type { GraphPicture } from "../shapes";
import type { Matches, Place, Selected } from "./links";

/** How many lines light over all panes, without the selected lines themselves. */
export function linesLit(lit: readonly { key: string; matches: Matches }[], selected: Selected) {
  const { origin } = selected;
  const counted = lit.map(({ key, matches }) =>
    origin?.key === key
      ? matches.lines.filter((line) => line < origin.first || origin.last < line).length
      : matches.lines.length,
  );
  return counted.reduce((sum, lines) => sum + lines, 0);
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
