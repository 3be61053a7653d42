// The strip next to a text. For a source line, it shows the share of the run's kernel time that the
// line is part of; for a kernel's line, the number of instructions; for machine code, the number of
// live registers.

import { type Extension, StateEffect } from "@codemirror/state";
import { gutter } from "@codemirror/view";
import type { FileHeat } from "../../shared/api";
import { count, microseconds, share } from "../../shared/figures";
import { ask } from "../../shared/server";
import { Sign } from "./elements";
import { fieldOf, firstLine } from "./lit-lines";

export interface LineTime {
  /** Time of all kernels that the line is part of. */
  time_us: number;
  /** The line's part of that time, by bytes moved; the parts of all lines sum to the kernels'
   * time. */
  shared_us: number;
  /** `shared_us` as a share of the kernels' time. */
  share: number;
  kernels: number;
  /** `shared_us` in each graph, by slug, the largest first. */
  graphs: Readonly<Record<string, number>>;
}

/** Line of a file → its time. */
export type Heat = ReadonlyMap<number, LineTime>;

const COLD: WarmthOf = () => null;

/** Shares from which a line is warm, warmer, hot: steps that the eye can distinguish. */
const STEPS = [0, 0.02, 0.05, 0.12, 0.25] as const;

export function stepOf(part: number): number {
  return part > 0 ? STEPS.filter((least) => part >= least).length : 0;
}

/** Times of the source lines, by path. A run without times has none. */
export async function fetchHeat(url: string): Promise<Map<string, Heat>> {
  const { files } = await ask<{ files: FileHeat[] }>(url);
  return new Map(files.map((file) => [file.path, heatOf(file)]));
}

function heatOf({ lines, graphs, ...columns }: FileHeat): Heat {
  const timeAt = (at: number): LineTime => ({
    time_us: columns.time_us[at] ?? 0,
    shared_us: columns.shared_us[at] ?? 0,
    share: columns.share[at] ?? 0,
    kernels: columns.kernels[at] ?? 0,
    graphs: graphs[at] ?? {},
  });
  return new Map(lines.map((line, at) => [line, timeAt(at)]));
}

/** How warm a line is, and why. */
export interface Warm {
  /** Share of the whole. */
  share: number;
  words: string;
}

export type WarmthOf = (line: number) => Warm | null;

/** Warmth of the lines of a source. */
export function warmthOfTimes(heat: Heat): WarmthOf {
  return (line) => {
    const time = heat.get(line);
    if (!time || time.time_us <= 0) return null;
    const words =
      `${microseconds(time.shared_us)} a step, ${share(time.share)} of the run's kernel time: ` +
      `its part, by bytes moved, of ${count(time.kernels, "kernel")} that ` +
      `${time.kernels === 1 ? "takes" : "take"} ${microseconds(time.time_us)} with all their lines.`;
    return { share: time.share, words };
  };
}

export const setHeat = StateEffect.define<WarmthOf>();

const heatField = fieldOf(setHeat, COLD);

export const heatStrip: Extension = [
  heatField,
  gutter({
    class: "heat",
    lineMarker: ({ state }, block) => {
      const line = state.doc.lineAt(block.from).number + state.facet(firstLine) - 1;
      const warm = state.field(heatField)(line);
      return warm && new Sign(`heat-${stepOf(warm.share)}`, warm.words);
    },
    lineMarkerChange: (update) =>
      update.startState.field(heatField) !== update.state.field(heatField),
  }),
];
