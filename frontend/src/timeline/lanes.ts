// Positions of the timeline's rows: tracks below each other, each with its title. Pure.
import type { Track } from "../shared/api";

export const ROW = 17;
export const TITLE = 19;
const GAP = 5;

export interface Lane {
  track: Track;
  /** Position of its title, from the top of all tracks. */
  y: number;
  rows: number;
}

export interface Lanes {
  all: Lane[];
  height: number;
  /** Position of each row of the answer; -1 if it is folded away. */
  rowY: number[];
}

const ON_DEVICE = ": annotations";

/** Devices first, then threads, the busiest first, then the profiler's marks. */
function inOrder(tracks: readonly Track[]): Track[] {
  const device = (track: Track) => track.title.replace(ON_DEVICE, "");
  const place = ({ kind, title }: Track) =>
    kind === "stream" || title.endsWith(ON_DEVICE) ? 0 : kind === "thread" ? 1 : 2;
  return [...tracks].sort(
    (one, other) =>
      place(one) - place(other) ||
      (one.kind === "thread"
        ? other.events - one.events
        : device(one).localeCompare(device(other), "en", { numeric: true }) ||
          one.kind.localeCompare(other.kind)),
  );
}

export function laneOut(tracks: readonly Track[], folded: ReadonlySet<number>): Lanes {
  const all: Lane[] = [];
  const rowY: number[] = [];
  let y = 0;
  for (const track of inOrder(tracks)) {
    const rows = folded.has(track.first_row) ? Math.min(1, track.rows) : track.rows;
    all.push({ track, y, rows });
    for (let row = 0; row < track.rows; row++) {
      rowY[track.first_row + row] = row < rows ? y + TITLE + row * ROW : -1;
    }
    y += TITLE + rows * ROW + GAP;
  }
  return { all, height: y, rowY };
}

/** The lane at a height. */
export function laneAt(lanes: Lanes, y: number): Lane | null {
  return (
    lanes.all.find((lane) => y >= lane.y && y < lane.y + TITLE + lane.rows * ROW + GAP) ?? null
  );
}

/** The row at a height; null between rows and on titles. */
export function rowAt(lanes: Lanes, y: number): number | null {
  const lane = laneAt(lanes, y);
  if (!lane) return null;
  const row = Math.floor((y - lane.y - TITLE) / ROW);
  return row >= 0 && row < lane.rows ? lane.track.first_row + row : null;
}
