// Draws indentation narrower, because generated code is nested up to nine levels and panes are
// narrow. The text itself is unchanged, for search and copy.
import type { Extension } from "@codemirror/state";
import { Decoration } from "@codemirror/view";
import { visibleLines } from "./visible-lines";

const HALF = Decoration.mark({ class: "indent" });
const THIRD = Decoration.mark({ class: "indent deep" });

/** Relative width of a space of indentation; the style sheet has the same value. */
export function partKept(language: string): number {
  return language === "cpp" ? 0.35 : 0.5;
}

function narrowed(mark: Decoration): Extension {
  return visibleLines((add, { text, from }) => {
    const width = /^ */.exec(text)?.[0].length ?? 0;
    if (width) add(from, from + width, mark);
  });
}

const [BY_HALF, BY_TWO_THIRDS] = [narrowed(HALF), narrowed(THIRD)];

export function narrowIndents(language: string): Extension {
  return language === "cpp" ? BY_TWO_THIRDS : BY_HALF;
}
