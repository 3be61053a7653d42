// The loaded bars, row by row. Pure.
import type { TimelinePage } from "../shared/api";
import { firstOf } from "../shared/sorted";

export interface Bar {
  at: number;
  row: number;
  start: number;
  us: number;
  /** Null if events with different names are merged in it. */
  name: string | null;
  category: string;
  event: number;
  count: number;
  busy: number;
}

/** The bars of an answer, ready to draw and search. */
export class Bars {
  readonly start: number;
  readonly end: number;
  readonly names: readonly string[];
  readonly categories: readonly string[];
  readonly starts: Float64Array;
  readonly lengths: Float64Array;
  readonly name: Int32Array;
  readonly category: Int32Array;
  /** Number of events of each bar. */
  readonly count: Int32Array;
  readonly busy: Float64Array;
  private readonly event: readonly number[];
  private readonly row: readonly number[];
  private readonly firsts = new Map<number, [number, number]>();

  constructor(answer: TimelinePage) {
    const { bars } = answer;
    this.start = answer.start_us;
    this.end = answer.end_us;
    this.names = answer.names;
    this.categories = answer.categories;
    this.starts = Float64Array.from(bars.start_us);
    this.lengths = Float64Array.from(bars.us);
    this.name = Int32Array.from(bars.name);
    this.category = Int32Array.from(bars.category);
    this.event = bars.event;
    this.row = bars.row;
    this.count = new Int32Array(this.starts.length).fill(1);
    this.busy = Float64Array.from(bars.us);
    for (const [at, count, busy] of bars.merged as [number, number, number][]) {
      this.count[at] = count;
      this.busy[at] = busy;
    }
    let first = 0;
    for (let at = 1; at <= this.row.length; at++) {
      if (this.row[at] === this.row[first]) continue;
      this.firsts.set(this.row[first] as number, [first, at]);
      first = at;
    }
  }

  get size(): number {
    return this.starts.length;
  }

  /** The bars of a row that a time range touches, as a range of indices. */
  inRow(row: number, start: number, end: number): [number, number] {
    const range = this.firsts.get(row);
    if (!range) return [0, 0];
    const startOf = (at: number) => this.starts[at] as number;
    const first = firstOf(...range, (at) => startOf(at) + (this.lengths[at] as number) >= start);
    return [first, firstOf(first, range[1], (at) => startOf(at) > end)];
  }

  bar(at: number): Bar {
    const name = this.name[at] as number;
    return {
      at,
      row: this.row[at] as number,
      start: this.starts[at] as number,
      us: this.lengths[at] as number,
      name: name < 0 ? null : (this.names[name] ?? ""),
      category: this.categories[this.category[at] as number] ?? "",
      event: this.event[at] as number,
      count: this.count[at] as number,
      busy: this.busy[at] as number,
    };
  }

  /** The bar of a row that is closest to a moment, if it is within some µs. */
  near(row: number, us: number, within: number): Bar | null {
    const [first, last] = this.inRow(row, us - within, us + within);
    let best: Bar | null = null;
    let closest = Number.POSITIVE_INFINITY;
    for (let at = first; at < last; at++) {
      const start = this.starts[at] as number;
      const away = Math.max(start - us, us - start - (this.lengths[at] as number), 0);
      if (away < closest) {
        closest = away;
        best = this.bar(at);
      }
    }
    return best;
  }

  /** The gap around a moment, between two bars of a row. */
  gap(row: number, us: number): { start: number; us: number } | null {
    const [first] = this.inRow(row, us, us);
    const range = this.firsts.get(row);
    if (!range || first <= range[0] || first >= range[1]) return null;
    const start = (this.starts[first - 1] as number) + (this.lengths[first - 1] as number);
    return { start, us: (this.starts[first] as number) - start };
  }

  /** The event before (-1) or after (1) one in its row, if it is loaded and not merged. */
  beside(event: number, direction: number): Bar | null {
    const at = this.event.indexOf(event);
    const next = at + direction;
    if (at < 0 || this.row[next] !== this.row[at] || this.count[next] !== 1) return null;
    return this.bar(next);
  }
}
