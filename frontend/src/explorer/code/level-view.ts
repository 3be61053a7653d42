// Empty rows and marks that keep two texts aligned.
import type { Extension, Range } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";
import { make } from "../../shared/elements";
import { Inserted } from "./elements";
import type { Side } from "./level";

/** Line height in the style sheet. */
const LINE_PX = 20;

const ONLY = {
  left: Decoration.line({ class: "level-only level-left" }),
  right: Decoration.line({ class: "level-only level-right" }),
};
const CHANGED = {
  left: Decoration.line({ class: "level-changed level-left" }),
  right: Decoration.line({ class: "level-changed level-right" }),
};
const WORDS = Decoration.mark({ class: "level-words" });

/** The decorations of one side. They do not change during a comparison. */
export function levelled(side: Side): Extension {
  return EditorView.decorations.compute(["doc"], (state): DecorationSet => {
    const { doc } = state;
    const ranges: Range<Decoration>[] = [];
    for (const [line, rows] of side.spaces) {
      const after = line > doc.lines;
      const at = after ? doc.length : doc.line(line).from;
      const px = rows * LINE_PX;
      const widget = new Inserted(
        String(rows),
        () => {
          const space = make("div", { class: "level-space" });
          space.style.height = `${px}px`;
          return space;
        },
        px,
      );
      ranges.push(Decoration.widget({ widget, block: true, side: after ? 1 : -1 }).range(at));
    }
    for (const line of side.only) {
      if (line <= doc.lines) ranges.push(ONLY[side.at].range(doc.line(line).from));
    }
    for (const [line, other] of side.moved) {
      if (line > doc.lines) continue;
      const title = `Moved: it is line ${other} on the other side`;
      const moved = Decoration.line({ class: "level-moved", attributes: { title } });
      ranges.push(moved.range(doc.line(line).from));
    }
    for (const [line, spans] of side.changed) {
      if (line > doc.lines) continue;
      const { from, length } = doc.line(line);
      ranges.push(CHANGED[side.at].range(from));
      for (const [start, end] of spans) {
        if (start < end && end <= length) ranges.push(WORDS.range(from + start, from + end));
      }
    }
    return Decoration.set(ranges, true);
  });
}
