// What lights in one pane. Pure.
import { KNOWN, knownAt, type Matches, NO_MATCHES, type Range } from "./links";

/** Everything that can light in one pane. Lines are those of the artifact. */
export interface Marks {
  pinned: Matches;
  hovered: Matches;
  /** The selected lines themselves, when they are in this pane. */
  origin: Range | null;
  /** The match that n and p have come to. */
  current: number | null;
}

export const NO_MARKS: Marks = {
  pinned: NO_MATCHES,
  hovered: NO_MATCHES,
  origin: null,
  current: null,
};

/** Whether nothing lights. */
export function isDark({ pinned, hovered, origin, current }: Marks): boolean {
  return !pinned.lines.length && !hovered.lines.length && origin === null && current === null;
}

/** Classes of one line; empty when the line does not light. */
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
