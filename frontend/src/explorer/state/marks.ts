// What is highlighted in one pane. Pure.
import { KNOWN, knownAt, type Matches, NO_MATCHES, type Range } from "./links";

/** Everything highlighted in one pane. Lines are numbered as in the artifact. */
export interface Marks {
  pinned: Matches;
  hovered: Matches;
  /** The selected lines themselves, if they are in this pane. */
  origin: Range | null;
  /** The current match of n and p. */
  current: number | null;
}

export const NO_MARKS: Marks = {
  pinned: NO_MATCHES,
  hovered: NO_MATCHES,
  origin: null,
  current: null,
};

/** Whether nothing is highlighted. */
export function isDark({ pinned, hovered, origin, current }: Marks): boolean {
  return !pinned.lines.length && !hovered.lines.length && origin === null && current === null;
}

/** Classes of one line; empty if it is not highlighted. */
export function classesOf(marks: Marks, line: number): string {
  const pinned = knownAt(marks.pinned, line);
  const hovered = pinned ? 0 : knownAt(marks.hovered, line);
  const classes: string[] = [];
  if (pinned) classes.push("lit");
  if (hovered) classes.push("pre");
  if (pinned || hovered) classes.push(`known-${KNOWN[pinned || hovered]}`);
  const { origin } = marks;
  if (origin && origin.first <= line && line <= origin.last) {
    classes.push("origin");
    if (line === origin.first) classes.push("from");
    if (line === origin.last) classes.push("to");
  }
  if (marks.current === line) classes.push("current");
  return classes.join(" ");
}
