// The walk over matches with n and p: pane after pane, line after line. Pure but for the panes' names.
import type { Matches } from "./selection";

export interface Stop<Pane = import("./pane").Pane> {
  pane: Pane;
  line: number;
  place: { at: number; of: number };
}

/** All stops in order; the selected line itself is none. */
export function stopsOf<Pane>(
  panes: readonly Pane[],
  matchesOf: (pane: Pane) => Matches,
  originIn: (pane: Pane) => number | null,
): Stop<Pane>[] {
  const stops: Stop<Pane>[] = [];
  for (const pane of panes) {
    const origin = originIn(pane);
    for (const line of matchesOf(pane).lines) {
      if (line !== origin) stops.push({ pane, line, place: { at: stops.length + 1, of: 0 } });
    }
  }
  for (const stop of stops) stop.place.of = stops.length;
  return stops;
}

/** The stop after the last one; a walk that starts begins in the pane that has the focus. */
export function stopAfter<Pane>(
  stops: readonly Stop<Pane>[],
  last: Stop<Pane> | null,
  by: 1 | -1,
  active: Pane | null,
): Stop<Pane> | null {
  if (!stops.length) return null;
  const wrapped = (at: number) => stops[(at + stops.length) % stops.length] ?? null;
  const at = stops.findIndex((stop) => stop.pane === last?.pane && stop.line === last.line);
  if (at >= 0 && (active === null || last?.pane === active)) return wrapped(at + by);
  const here = stops.findIndex((stop) => stop.pane === active);
  if (here >= 0) return stops[here] ?? null;
  return at >= 0 ? wrapped(at + by) : wrapped(by === 1 ? 0 : -1);
}
