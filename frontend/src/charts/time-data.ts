// What the time page carries for its charts.
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
  /** Steps that the profile is the sum of. */
  steps: number;
  /** What a time of the profile is of: "a step" or "of the trace". */
  per: string;
  categories: { category: string; us: number; calls: number }[];
  timeline: { span_us: number; busy_us: number; parts: Part[] } | null;
  groups: Group[];
  map: Tile[];
}

export type Rows = (string | number)[][];
