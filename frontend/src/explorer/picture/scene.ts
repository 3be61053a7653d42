// What to draw: boxes and lines at their positions, in pixels at zoom 1. Pure.

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface GroupBox extends Box {
  /** Position of the group in the graph; null for nodes without a group. */
  group: number | null;
}

export interface NodeBox extends Box {
  node: number;
  /** The group it belongs to, and whether that computes it or only uses it. */
  group: number | null;
  computed: boolean;
}

export interface Line {
  /** Nodes, or groups if the picture shows groups. */
  from: number;
  to: number;
  points: readonly number[];
  /** Whether it crosses much of the picture, and so is drawn faintly. */
  far: boolean;
}

export interface Scene extends Box {
  groups: readonly GroupBox[];
  nodes: readonly NodeBox[];
  lines: readonly Line[];
  /** Whether the lines connect groups, or nodes. */
  joins: "groups" | "nodes";
}

/** A box with space around it. */
export function grown({ x, y, width, height }: Box, by: number): Box {
  return { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

export function holds(box: Box, x: number, y: number): boolean {
  return x >= box.x && y >= box.y && x <= box.x + box.width && y <= box.y + box.height;
}

/** The box around some boxes; null if there are none. */
export function boundsOf(boxes: readonly Box[]): Box | null {
  if (!boxes.length) return null;
  const x = Math.min(...boxes.map((box) => box.x));
  const y = Math.min(...boxes.map((box) => box.y));
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y,
  };
}
