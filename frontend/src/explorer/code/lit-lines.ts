// Highlighted lines of a code view, and where the name at the caret occurs. Only visible lines are decorated, so that ten thousand matches
// cost no more than ten.
import {
  type EditorState,
  type Extension,
  Facet,
  StateEffect,
  type StateEffectType,
  StateField,
} from "@codemirror/state";
import { Decoration, gutter, lineNumbers } from "@codemirror/view";
import { classesOf, type Marks, NO_MARKS } from "../state/marks";
import { Sign } from "./elements";
import { visibleLines } from "./visible-lines";

export const setMarks = StateEffect.define<Marks>();

/** The number of the text's first line in the artifact. */
export const firstLine = Facet.define<number, number>({ combine: ([first]) => first ?? 1 });

/** A field that an effect sets. */
export function fieldOf<Value>(set: StateEffectType<Value>, initial: Value): StateField<Value> {
  return StateField.define<Value>({
    create: () => initial,
    update: (value, { effects }) => effects.find((each) => each.is(set))?.value ?? value,
  });
}

export const marksField = fieldOf(setMarks, NO_MARKS);

/** The edge next to a highlighted line, in the gutter, so that it stays visible when the code
 * scrolls. */
const edges = gutter({
  class: "edges",
  lineMarker: ({ state }, block) => {
    const line = state.doc.lineAt(block.from).number + state.facet(firstLine) - 1;
    const classes = classesOf(state.field(marksField), line);
    return classes ? new Sign(classes) : null;
  },
  lineMarkerChange: (update) =>
    update.startState.field(marksField) !== update.state.field(marksField),
});

const lit = visibleLines(
  (add, { from, number }, { state }) => {
    const classes = classesOf(state.field(marksField), number + state.facet(firstLine) - 1);
    if (classes) add(from, from, Decoration.line({ class: classes }));
  },
  (update) => update.startState.field(marksField) !== update.state.field(marksField),
);

/** Shared by all texts, so that a view keeps its gutters when it shows another text. */
export const litLines: Extension = [marksField, lit, edges];

export const numbers = lineNumbers({
  formatNumber: (number, state) => String(number + state.facet(firstLine) - 1),
});

export const setName = StateEffect.define<string>();

const nameField = fieldOf(setName, "");

const WORD = /[A-Za-z_]\w*/g;
/** Words that name nothing. */
const COMMON =
  /^(?:None|and|as|auto|class|const|def|default|else|for|from|if|import|in|is|not|or|return|self)$/;
const NAMED = Decoration.mark({ class: "named" });

export const litNames = [
  nameField,
  visibleLines(
    (add, { text, from }, { state }) => {
      const name = state.field(nameField);
      if (!name || !text.includes(name)) return;
      for (const { 0: word, index } of text.matchAll(WORD)) {
        if (word === name) add(from + index, from + index + word.length, NAMED);
      }
    },
    (update) => update.startState.field(nameField) !== update.state.field(nameField),
  ),
];

export function nameAt(state: EditorState): string {
  const word = state.wordAt(state.selection.main.head);
  const name = word ? state.sliceDoc(word.from, word.to) : "";
  return /^[A-Za-z_]\w+$/.test(name) && !COMMON.test(name) ? name : "";
}
