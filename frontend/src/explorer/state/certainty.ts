// How certain links are. Edges of lines, the chain and its tooltips, the chip of the status line
// and "How is this known?" all show the result of this module. Pure.
import { CERTAINTIES } from "../../shared/vocabulary";

function level(id: string): number {
  return CERTAINTIES.find((each) => each.id === id)?.level ?? 0;
}

export const [KERNEL, INFERRED, EXACT] = [level("kernel"), level("inferred"), level("exact")];

/** How certain a line's reference is when the line is selected. Being part of a kernel says nothing
 * about which other line of the kernel it belongs to. */
export function ofReference(entity: string, known: number): number {
  return entity.startsWith("kernel:") ? Math.min(known, KERNEL) : known;
}

/** A link is as certain as the less certain of its two references. */
export function ofLink(selected: number, reference: number): number {
  return Math.min(selected, reference);
}

interface Selection {
  entities: Map<number, number>;
  origin: { key: string; first: number; last: number } | null;
}

/** The queries on links that are needed here. */
interface Index {
  readonly entities: readonly string[];
  keys(): Iterable<string>;
  surest(key: string, entity: number): number;
  matches(selected: Selection, key: string): { lines: Int32Array; known: Uint8Array };
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
export function ofSelection(index: Index, selected: Selection): Certainty | null {
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
function ofStages(index: Index, selected: Selection): number {
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
