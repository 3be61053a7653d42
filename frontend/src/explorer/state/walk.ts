// The walk through matches with n and p: pane after pane, in a kernel pane kernel after kernel, in
// a source pane file after file, line after line. Pure.

import type { Kernel } from "../shapes";
import type { PaneAddress } from "./address";
import type { Matches, Range } from "./links";

/** What a pane shows, or can be switched to. */
export interface View<Pane = PaneAddress> {
  pane: Pane;
  /** The kernel, or the path of the file, that the pane must show for these matches. */
  kernel: Kernel | null;
  file: string | null;
  matches: Matches;
  origin: Range | null;
}

export interface Stop<Pane = PaneAddress> {
  pane: Pane;
  kernel: Kernel | null;
  file: string | null;
  line: number;
  place: { at: number; of: number };
}

/** All stops in order, without the selected lines themselves. */
export function stopsOf<Pane>(views: readonly View<Pane>[]): Stop<Pane>[] {
  const stops: Stop<Pane>[] = [];
  for (const { pane, kernel, file, matches, origin } of views) {
    for (const line of matches.lines) {
      if (origin && origin.first <= line && line <= origin.last) continue;
      stops.push({ pane, kernel, file, line, place: { at: stops.length + 1, of: 0 } });
    }
  }
  for (const stop of stops) stop.place.of = stops.length;
  return stops;
}

function same<Pane>(one: Stop<Pane>, other: Stop<Pane> | null): boolean {
  return (
    one.pane === other?.pane &&
    one.line === other.line &&
    one.kernel?.name === other.kernel?.name &&
    one.file === other.file
  );
}

/** The stop after the last one. A walk starts in the pane that has the focus, with its current
 * content. */
export function stopAfter<Pane>(
  stops: readonly Stop<Pane>[],
  last: Stop<Pane> | null,
  by: 1 | -1,
  active: Pane | null,
  isShown: (stop: Stop<Pane>) => boolean = () => true,
): Stop<Pane> | null {
  if (!stops.length) return null;
  const wrapped = (at: number) => stops[(at + stops.length) % stops.length] ?? null;
  const at = stops.findIndex((stop) => same(stop, last));
  if (at >= 0 && (active === null || last?.pane === active)) return wrapped(at + by);
  const here = stops.filter((stop) => stop.pane === active);
  if (here.length) return here.find(isShown) ?? here[0] ?? null;
  return at >= 0 ? wrapped(at + by) : wrapped(by === 1 ? 0 : -1);
}
