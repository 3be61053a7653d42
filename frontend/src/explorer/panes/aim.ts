// Which line of a pane to bring into sight when something is selected.
import type { Aim } from "../code/code";
import { knownAt, type Matches, type Range } from "../state/links";
import type { Pane } from "./pane";

/** Matches that are looked at: further ones do not get nearer by looking. */
const MOST = 2000;

/** Null when one of the lines that matter most is in sight already, or there is none. */
export function aimIn(pane: Pane, found: Matches, origin: Range | null): Aim | null {
  if (origin) return pane.anyInSight([origin.first]) ? null : pane.aimAt(origin.first);
  const lit = [...found.lines.subarray(0, MOST)];
  // Comments name what they are about; the surest lines of code are what one wants to see.
  const code = lit.filter((line) => !/^\s*(#|\/\/)/.test(pane.text(line) ?? ""));
  const best = Math.max(0, ...code.map((line) => knownAt(found, line)));
  const surest = code.filter((line) => knownAt(found, line) === best);
  const wanted = surest.length ? surest : lit;
  if (wanted[0] === undefined || pane.anyInSight(wanted)) return null;
  return pane.aimAt(wanted[0]);
}
