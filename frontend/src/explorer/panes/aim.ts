// Chooses the line of a pane to scroll to when something is selected.
import type { Aim, Code } from "../code/code";
import { knownAt, type Matches, type Range } from "../state/links";

/** Most matches to examine; the nearest is usually among them. */
const MOST = 2000;

/** Null if one of the most relevant lines is already visible, or there is none. */
export function aimIn(code: Code, found: Matches, origin: Range | null): Aim | null {
  if (origin) return code.anyInSight([origin.first]) ? null : code.aimAt(origin.first);
  const lit = [...found.lines.subarray(0, MOST)];
  // Comments only name what they are about, so prefer the most certain lines of code.
  const written = lit.filter((line) => !/^\s*(#|\/\/)/.test(code.text(line) ?? ""));
  const best = Math.max(0, ...written.map((line) => knownAt(found, line)));
  const surest = written.filter((line) => knownAt(found, line) === best);
  const wanted = surest.length ? surest : lit;
  if (wanted[0] === undefined || code.anyInSight(wanted)) return null;
  return code.aimAt(wanted[0]);
}
