// Says where a selection is. Pure.

import type { GraphPicture } from "../shapes";
import type { Place } from "./links";

/** "models.py:26", "Kernel line 52", "FX post-grad line 17". */
export function placeName(picture: GraphPicture, { key, first: from, last: to }: Place): string {
  const lines = to > from ? `${from}–${to}` : `${from}`;
  if (key.startsWith("source:")) return `${key.split("/").pop()}:${lines}`;
  const inKernel = picture.kernels.some(
    ({ first, last }) => first !== null && first <= from && from <= (last ?? 0),
  );
  const id = key === "code" ? (inKernel ? "kernel" : "wrapper") : key.replace(/:.*/, "");
  const stage = picture.stages.find((each) => each.id === id);
  return `${stage?.title ?? id} ${to > from ? "lines" : "line"} ${lines}`;
}
