// Colours for code, over the lines in view.
import type { Extension } from "@codemirror/state";
import { Decoration } from "@codemirror/view";
import { isColoured, TOKENS, tokenise } from "../../shared/tokens";
import { visibleLines } from "./visible-lines";

const MARKS = TOKENS.map((name) => Decoration.mark({ class: `tok-${name}` }));

/** Beyond this many characters a line is left plain. */
const LONGEST = 4000;

const made = new Map<string, Extension>();

function colouredBy(language: string): Extension {
  return visibleLines((add, { text, from }) => {
    tokenise(text.slice(0, LONGEST), language, (start, end, token) => {
      add(from + start, from + end, MARKS[token] as Decoration);
    });
  });
}

/** The same for all texts of a language: a view that turns to another one keeps it. */
export function coloured(language: string): Extension {
  if (!isColoured(language)) return [];
  const extension = made.get(language) ?? colouredBy(language);
  made.set(language, extension);
  return extension;
}
