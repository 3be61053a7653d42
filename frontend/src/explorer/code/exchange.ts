// Putting texts into a code view. Each change of a view costs a layout of the page, so that a text, the
// lines that light in it and the place to look at are put in together.
import { EditorState, type Extension, StateEffect, type Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { NO_MARKS } from "../state/marks";
import { litLines, numbers, setMarks } from "./lit-lines";
import { LOOK } from "./look";

/** Scrolling to where a line begins, by the heights that are known: asking where things stand, once for
 * the line and once for each box around it, costs layouts. */
const straight = EditorView.scrollHandler.of((view, { head }, { x, y, yMargin }) => {
  const { scrollDOM } = view;
  const { top, bottom, from } = view.lineBlockAt(head);
  if (y === "nearest" || x !== "nearest" || head !== from) return false;
  const above = y === "start" ? yMargin : (scrollDOM.clientHeight - (bottom - top)) / 2;
  scrollDOM.scrollTo(0, top + view.documentPadding.top - above);
  return true;
});

/** The same for all texts: a view that sees its phrases go begins anew, what folds asks for the marks
 * from before, and gutters that go are made anew line by line. */
export const LASTING = [
  LOOK,
  EditorState.phrases.of({ Find: "Find in this pane" }),
  numbers,
  litLines,
  straight,
];

/** A text that the view does not show yet. */
export interface Coming {
  doc: Text;
  extensions: Extension;
  effects: StateEffect<unknown>[];
}

/** A place that is to come into sight. */
export interface Goal {
  at: number;
  how: Parameters<typeof EditorView.scrollIntoView>[1];
}

export function scrollTo({ at, how }: Goal): StateEffect<unknown> {
  return EditorView.scrollIntoView(at, how);
}

/** Put another text into a view. It keeps what it measured, heights of lines and widths of letters,
 * and so draws the lines around the goal at once; a view of a new state begins by measuring. */
export function exchange(
  view: EditorView,
  { doc, extensions, effects }: Coming,
  goal: Goal | null,
): void {
  const old = view.state.doc.length;
  const at = goal?.at ?? 0;
  // A view takes goals within the text that it has. The end of the old text becomes the goal.
  const aimed = view.state.update(
    goal ? { effects: EditorView.scrollIntoView(old, goal.how) } : {},
  );
  const cleared = aimed.state.update({
    changes: [
      { from: 0, to: old, insert: doc.slice(0, at) },
      { from: old, insert: doc.slice(at) },
    ],
    selection: { anchor: 0 },
    // What else knows the old text goes before it does.
    effects: [StateEffect.reconfigure.of(LASTING), setMarks.of(NO_MARKS)],
  });
  const filled = cleared.state.update({ effects: StateEffect.reconfigure.of(extensions) });
  view.dispatch([aimed, cleared, filled, filled.state.update({ effects })]);
}
