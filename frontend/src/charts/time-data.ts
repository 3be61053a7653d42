// The data in the time page for its charts.
import type { MapPart as Tile } from "../shared/api";

export interface Timing {
  median_ms?: number;
  mean_ms?: number;
  p10?: number;
  p90?: number;
}

/** Part of a timeline; the parts sum to its span. */
export interface Part {
  name: string;
  us: number;
  share: number;
  idle: boolean;
}

export interface Group {
  group: string;
  eager_us: number;
  compiled_us: number;
}

export type { Tile };

export interface TimeData {
  eager_ms: number | null;
  compiled_ms: number | null;
  timings: Record<string, Timing>;
  /** Number of steps that the profile sums over. */
  steps: number;
  /** What a time in the profile refers to: "a step" or "of the trace". */
  per: string;
  categories: { category: string; us: number; calls: number }[];
  timeline: { span_us: number; busy_us: number; parts: Part[] } | null;
  groups: Group[];
  map: Tile[];
}

export type Rows = (string | number)[][];
