// Highlights code in the visible lines.
import type { Extension } from "@codemirror/state";
import { Decoration } from "@codemirror/view";
import { isColoured, TOKENS, tokenise } from "../../shared/tokens";
import { visibleLines } from "./visible-lines";

const MARKS = TOKENS.map((name) => Decoration.mark({ class: `tok-${name}` }));

/** Longer lines are not highlighted. */
const LONGEST = 4000;

const made = new Map<string, Extension>();

function colouredBy(language: string): Extension {
  return visibleLines((add, { text, from }) => {
    tokenise(text.slice(0, LONGEST), language, (start, end, token) => {
      add(from + start, from + end, MARKS[token] as Decoration);
    });
  });
}

/** Shared by all texts of a language, so that a view keeps it when it shows another text. */
export function coloured(language: string): Extension {
  if (!isColoured(language)) return [];
  const extension = made.get(language) ?? colouredBy(language);
  made.set(language, extension);
  return extension;
}
