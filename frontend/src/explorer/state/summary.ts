// Says where a selection is, and how certain its links are. Pure.

import type { GraphPicture } from "../shapes";
import { KERNEL, ofLink } from "./certainty";
import { kernelAt } from "./follow";
import type { LinkIndex, Place, Selected } from "./links";

/** "models.py:26", "Kernel line 52", "FX post-grad line 17". */
export function placeName(picture: GraphPicture, { key, first: from, last: to }: Place): string {
  const lines = to > from ? `${from}–${to}` : `${from}`;
  if (key.startsWith("source:")) return `${key.split("/").pop()}:${lines}`;
  const ofCode = kernelAt(picture.kernels, from) ? "kernel" : "wrapper";
  const id = key === "code" ? ofCode : key.replace(/:.*/, "");
  const stage = picture.stages.find((each) => each.id === id);
  return `${stage?.title ?? id} ${to > from ? "lines" : "line"} ${lines}`;
}

export interface Certainty {
  /** Certainty of the node with the most certain link. */
  best: number;
  /** Certainty of the node with the least certain link. */
  least: number;
}

/** How certain the links of a selection are, from its nodes to the generated code. For a kernel
 * line without nodes, only the kernel is known; for other selections without nodes, the links
 * between stages count. Null if nothing is linked. */
export function ofSelection(index: LinkIndex, selected: Selected): Certainty | null {
  const levels: number[] = [];
  let ofKernel = false;
  for (const [entity, known] of selected.entities) {
    const name = index.entities[entity] ?? "";
    const inCode = name.startsWith("fx:") ? index.surest("code", entity) : 0;
    if (inCode) levels.push(ofLink(known, inCode));
    ofKernel ||= name.startsWith("kernel:") && known <= KERNEL;
  }
  if (!levels.length) {
    const between = ofKernel ? KERNEL : ofStages(index, selected);
    if (between) levels.push(between);
  }
  return levels.length ? { best: Math.max(...levels), least: Math.min(...levels) } : null;
}

/** A chain of stages is as certain as its weakest link: the stage whose best line is least
 * certain. */
function ofStages(index: LinkIndex, selected: Selected): number {
  const { origin } = selected;
  const best = new Map<string, number>();
  for (const key of index.keys()) {
    const stage = key.startsWith("source:") ? "source" : key;
    const { lines, known } = index.matches(selected, key);
    lines.forEach((line, at) => {
      if (origin?.key === key && origin.first <= line && line <= origin.last) return;
      best.set(stage, Math.max(known[at] ?? 0, best.get(stage) ?? 0));
    });
  }
  return best.size ? Math.min(...best.values()) : 0;
}
