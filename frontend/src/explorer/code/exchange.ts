// Replaces the text of a code view. Each change costs a layout of the page, so the text, its
// highlighted lines and the scroll position are applied together.
import { EditorState, type Extension, StateEffect, type Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { LOOK } from "../../shared/look";
import { NO_MARKS } from "../state/marks";
import { litLines, litNames, numbers, setMarks } from "./lit-lines";

/** Scrolls to the beginning of a line, by known heights: measuring the position of the line and of
 * each box around it would cost layouts. */
const straight = EditorView.scrollHandler.of((view, { head }, { x, y, yMargin }) => {
  const { scrollDOM } = view;
  const { top, bottom, from } = view.lineBlockAt(head);
  if (y === "nearest" || x !== "nearest" || head !== from) return false;
  const above = y === "start" ? yMargin : (scrollDOM.clientHeight - (bottom - top)) / 2;
  scrollDOM.scrollTo(0, top + view.documentPadding.top - above);
  return true;
});

/** Shared by all texts. If a view's phrases changed it would start again, folding would read old
 * marks, and gutters would be rebuilt line by line. */
export const LASTING = [
  LOOK,
  EditorState.phrases.of({ Find: "Find in this pane" }),
  numbers,
  litLines,
  litNames,
  straight,
];

/** A text that the view does not show yet. */
export interface Coming {
  doc: Text;
  extensions: Extension;
  effects: StateEffect<unknown>[];
}

/** A position to scroll to. */
export interface Goal {
  at: number;
  how: Parameters<typeof EditorView.scrollIntoView>[1];
}

export function scrollTo({ at, how }: Goal): StateEffect<unknown> {
  return EditorView.scrollIntoView(at, how);
}

/** Put another text into a view. The view keeps its measured line heights and letter widths, so it
 * draws the target lines at once; a view with a new state would measure first. */
export function exchange(
  view: EditorView,
  { doc, extensions, effects }: Coming,
  goal: Goal | null,
): void {
  const old = view.state.doc.length;
  const at = goal?.at ?? 0;
  // A view accepts scroll targets only within its current text, so the end of the old text becomes
  // the target.
  const aimed = view.state.update(
    goal ? { effects: EditorView.scrollIntoView(old, goal.how) } : {},
  );
  const cleared = aimed.state.update({
    changes: [
      { from: 0, to: old, insert: doc.slice(0, at) },
      { from: old, insert: doc.slice(at) },
    ],
    selection: { anchor: 0 },
    // Clear everything that refers to the old text first.
    effects: [StateEffect.reconfigure.of(LASTING), setMarks.of(NO_MARKS)],
  });
  const filled = cleared.state.update({ effects: StateEffect.reconfigure.of(extensions) });
  view.dispatch([aimed, cleared, filled, filled.state.update({ effects })]);
}
