// Texts as code views hold them, and what they were made of.
import { Text } from "@codemirror/state";

/** Texts that were shown last, in lines: selections come back to the same few. */
const split = new Map<string, Text>();
const MOST_SPLIT = 40;

const made = new WeakMap<Text, string>();

export function docOf(text: string): Text {
  // By a pattern it takes several times as long, and few texts need one.
  const isPlain = !text.includes("\r");
  const doc = split.get(text) ?? Text.of(text.split(isPlain ? "\n" : /\r\n?|\n/));
  if (isPlain) made.set(doc, text);
  split.delete(text); // the last shown one is the last to go
  split.set(text, doc);
  for (const oldest of split.keys()) {
    if (split.size <= MOST_SPLIT) break;
    split.delete(oldest);
  }
  return doc;
}

/** The text with its lines ended by line feeds, as positions in it count. */
export function textOf(doc: Text): string {
  return made.get(doc) ?? doc.toString();
}
