// Texts in the form that code views hold, and where they came from.
import { Text } from "@codemirror/state";

/** Number of lines of recently shown texts to cache, because selections return to the same few. */
const split = new Map<string, Text>();
const MOST_SPLIT = 40;

const made = new WeakMap<Text, string>();

export function docOf(text: string): Text {
  // A regular expression takes several times as long, and few texts need one.
  const isPlain = !text.includes("\r");
  const doc = split.get(text) ?? Text.of(text.split(isPlain ? "\n" : /\r\n?|\n/));
  if (isPlain) made.set(doc, text);
  split.delete(text); // the most recent one is evicted last
  split.set(text, doc);
  for (const oldest of split.keys()) {
    if (split.size <= MOST_SPLIT) break;
    split.delete(oldest);
  }
  return doc;
}

/** The text with line feeds only, as positions in it count. */
export function textOf(doc: Text): string {
  return made.get(doc) ?? doc.toString();
}
