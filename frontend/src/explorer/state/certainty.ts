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
