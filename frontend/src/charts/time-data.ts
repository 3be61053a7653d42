// The data in the time page for its charts.
import type { GroupChange, MapPart as Tile, TimelinePart } from "../shared/api";

export type { Tile };

export interface TimeData {
  /** Number of steps that the profile sums over. */
  steps: number;
  /** What a time in the profile refers to: "a step" or "of the trace". */
  per: string;
  categories: { category: string; us: number; calls: number }[];
  timeline: { span_us: number; busy_us: number; parts: TimelinePart[] } | null;
  groups: Pick<GroupChange, "group" | "eager_us" | "compiled_us">[];
  map: Tile[];
}
