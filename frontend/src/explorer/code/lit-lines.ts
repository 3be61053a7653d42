// Lines that light in a code view. Decorations are made for the lines in view only, so that ten
// thousand matches cost no more than ten.
import { type Extension, Facet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { KNOWN, knownAt, type Matches, NO_MATCHES, type Range } from "../state/links";
import { visibleLines } from "./visible-lines";

/** Everything that can light in one view; lines are those of the artifact. */
export interface Marks {
  pinned: Matches;
  hovered: Matches;
  /** The selected lines themselves, when they are of this view. */
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

export const setMarks = StateEffect.define<Marks>();

/** The artifact's line that the view's text begins with. */
export const firstLine = Facet.define<number, number>({ combine: ([first]) => first ?? 1 });

export const marksField = StateField.define<Marks>({
  create: () => NO_MARKS,
  update: (marks, transaction) => {
    for (const effect of transaction.effects) if (effect.is(setMarks)) return effect.value;
    return marks;
  },
});

/** Classes of one line, empty when nothing lights it. */
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

const made = new Map<string, Decoration>();

function decoration(classes: string): Decoration {
  let found = made.get(classes);
  if (!found) {
    found = Decoration.line({ class: classes });
    made.set(classes, found);
  }
  return found;
}

/** The edge beside a lit line; in the gutter, so that it stays in sight when the code scrolls. */
class Edge extends GutterMarker {
  override readonly elementClass: string;

  constructor(classes: string) {
    super();
    this.elementClass = classes;
  }

  override eq(other: Edge): boolean {
    return other.elementClass === this.elementClass;
  }
}

const edges = gutter({
  class: "edges",
  lineMarker: ({ state }, block) => {
    const line = state.doc.lineAt(block.from).number + state.facet(firstLine) - 1;
    const classes = classesOf(state.field(marksField), line);
    return classes ? new Edge(classes) : null;
  },
  lineMarkerChange: (update) =>
    update.startState.field(marksField) !== update.state.field(marksField),
});

const lit = visibleLines(
  (add, { from, number }, { state }) => {
    const classes = classesOf(state.field(marksField), number + state.facet(firstLine) - 1);
    if (classes) add(from, from, decoration(classes));
  },
  (update) => update.startState.field(marksField) !== update.state.field(marksField),
);

/** The same for all texts, so that a view that turns to another text keeps its gutters. */
export const litLines: Extension = [marksField, lit, edges];

export const numbers = lineNumbers({
  formatNumber: (number, state) => String(number + state.facet(firstLine) - 1),
});
