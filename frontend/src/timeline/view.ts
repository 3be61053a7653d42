// The visible window of the timeline, in µs since the start of the trace. Pure.

export interface View {
  start: number;
  end: number;
}

/** The shortest window: a few nanoseconds, the resolution of traces. */
const SHORTEST_US = 0.02;

export function length(view: View): number {
  return view.end - view.start;
}

/** Moves the view inside the trace, and keeps its length if possible. */
export function inside(view: View, span: number): View {
  const long = Math.min(Math.max(length(view), SHORTEST_US), span);
  const start = Math.min(Math.max(0, view.start), span - long);
  return { start, end: start + long };
}

/** Zooms by a factor (below 1 zooms in) around a moment, which stays in place. */
export function zoomed(view: View, factor: number, at: number, span: number): View {
  const long = Math.min(Math.max(length(view) * factor, SHORTEST_US), span);
  const part = (at - view.start) / length(view);
  const start = at - part * long;
  return inside({ start, end: start + long }, span);
}

/** Moves by a share of the view. */
export function panned(view: View, part: number, span: number): View {
  const by = length(view) * part;
  return inside({ start: view.start + by, end: view.end + by }, span);
}

/** The view of a stretch, with a margin. */
export function around(start: number, us: number, span: number, room = 4): View {
  const long = Math.max(us * room, 1);
  const middle = start + us / 2;
  return inside({ start: middle - long / 2, end: middle + long / 2 }, span);
}

/** The view, moved so that a moment is visible. */
export function showing(view: View, start: number, us: number, span: number): View {
  if (start >= view.start && start + us <= view.end) return view;
  if (us > length(view)) return around(start, us, span, 1.2);
  const by = start + us / 2 - (view.start + view.end) / 2;
  return inside({ start: view.start + by, end: view.end + by }, span);
}

export interface Tick {
  us: number;
  label: string;
}

/** Round values for a ruler, about every hundred pixels. */
export function ticks(view: View, width: number): Tick[] {
  const least = (length(view) / Math.max(1, width)) * 95;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = ([1, 2, 5, 10].find((each) => each * power >= least) ?? 10) * power;
  const found: Tick[] = [];
  for (let us = Math.ceil(view.start / step) * step; us < view.end; us += step) {
    found.push({ us, label: moment(us, step) });
  }
  return found;
}

/** A moment with as many digits as a step has. */
function moment(us: number, step: number): string {
  const [size, unit] = us >= 1e6 ? [1e6, "s"] : us >= 1e3 ? [1e3, "ms"] : [1, "µs"];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(us / size).toFixed(Math.min(digits, 9))}\u202f${unit}`;
}

/** A moment, exact to the nanosecond. */
export function exact(us: number): string {
  return moment(us, 0.001);
}
