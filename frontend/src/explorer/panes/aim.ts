// Chooses the line of a pane to scroll to when something is selected.
import type { Aim } from "../code/code";
import { knownAt, type Matches, type Range } from "../state/links";
import type { Pane } from "./pane";

/** Most matches to examine; the nearest is usually among them. */
const MOST = 2000;

/** Null if one of the most relevant lines is already visible, or there is none. */
export function aimIn(pane: Pane, found: Matches, origin: Range | null): Aim | null {
  if (origin) return pane.anyInSight([origin.first]) ? null : pane.aimAt(origin.first);
  const lit = [...found.lines.subarray(0, MOST)];
  // Comments only name what they are about, so prefer the most certain lines of code.
  const code = lit.filter((line) => !/^\s*(#|\/\/)/.test(pane.text(line) ?? ""));
  const best = Math.max(0, ...code.map((line) => knownAt(found, line)));
  const surest = code.filter((line) => knownAt(found, line) === best);
  const wanted = surest.length ? surest : lit;
  if (wanted[0] === undefined || pane.anyInSight(wanted)) return null;
  return pane.aimAt(wanted[0]);
}
