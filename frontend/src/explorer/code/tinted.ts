// The colour that a line shares with lines of other panes (see state/tints.ts). The style sheet
// shows it if the reader has turned colours on.
import { type Extension, Facet } from "@codemirror/state";
import { Decoration } from "@codemirror/view";
import { PLAIN, TINTS } from "../state/tints";
import { firstLine } from "./lit-lines";
import { visibleLines } from "./visible-lines";

export type TintOf = (line: number) => number;

const tintOf = Facet.define<TintOf, TintOf>({ combine: ([of]) => of ?? (() => PLAIN) });

const CLASSES = Array.from({ length: TINTS + 1 }, (_, tint) =>
  Decoration.line({ class: `tint tint-${tint}` }),
);

const tints = visibleLines(
  (add, { from, number }, { state }) => {
    const tint = state.facet(tintOf)(number + state.facet(firstLine) - 1);
    const decoration = CLASSES[tint];
    if (tint !== PLAIN && decoration) add(from, from, decoration);
  },
  (update) => update.startState.facet(tintOf) !== update.state.facet(tintOf),
);

export function tinted(of: TintOf): Extension {
  return [tintOf.of(of), tints];
}
