// Phases as they are drawn: their row, the visible part, and which are neighbours.

import type { SpanRow as Span } from "../shared/api";

export type { Span };

export interface Window {
  from: number;
  to: number;
}

export function whole(spans: readonly Span[]): Window {
  const from = Math.min(...spans.map((span) => span.x_us));
  const to = Math.max(1, ...spans.map((span) => span.x_us + span.duration_us));
  return { from: Number.isFinite(from) ? from : 0, to };
}

/** The first row of each lane; lanes are separated by an empty row. */
export function laneRows(spans: readonly Span[]): { rows: number[]; count: number } {
  const deepest: number[] = [];
  for (const span of spans) deepest[span.lane] = Math.max(deepest[span.lane] ?? 0, span.depth);
  const rows: number[] = [];
  let row = 0;
  for (const [lane, depth] of deepest.entries()) {
    rows[lane] = row;
    row += (depth ?? 0) + 2;
  }
  return { rows, count: Math.max(1, row - 1) };
}

/** The span that an arrow key moves to, if any. */
export function neighbour(spans: readonly Span[], at: number, key: string): number | null {
  const here = spans[at];
  if (!here) return spans.length ? 0 : null;
  const end = here.x_us + here.duration_us;
  let best: number | null = null;
  const better = (candidate: number, closer: (one: Span, other: Span) => boolean) => {
    const one = spans[candidate];
    const other = best === null ? null : spans[best];
    if (one && (!other || closer(one, other))) best = candidate;
  };
  for (const [number, span] of spans.entries()) {
    if (number === at || span.lane !== here.lane) continue;
    const level = span.depth - here.depth;
    if (key === "ArrowRight" && level === 0 && span.x_us >= end)
      better(number, (one, other) => one.x_us < other.x_us);
    else if (key === "ArrowLeft" && level === 0 && span.x_us + span.duration_us <= here.x_us)
      better(number, (one, other) => one.x_us > other.x_us);
    else if (
      key === "ArrowUp" &&
      level === -1 &&
      span.x_us <= here.x_us &&
      span.x_us + span.duration_us >= end
    )
      better(number, (one, other) => one.duration_us < other.duration_us);
    else if (key === "ArrowDown" && level === 1 && span.x_us >= here.x_us && span.x_us < end)
      better(number, (one, other) => one.duration_us > other.duration_us);
  }
  return best;
}
