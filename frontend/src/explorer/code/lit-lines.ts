// Lines that light in a code view. Decorations are made for the lines in view only, so that ten
// thousand matches cost no more than ten.
import { type Extension, Facet, StateEffect, StateField } from "@codemirror/state";
import { Decoration, GutterMarker, gutter, lineNumbers } from "@codemirror/view";
import { classesOf, type Marks, NO_MARKS } from "../state/marks";
import { visibleLines } from "./visible-lines";

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
