// Decorations of the lines in view: made anew when these change, each line once. A very long line is
// in view in pieces, and is decorated with its first.
import { type Extension, RangeSetBuilder } from "@codemirror/state";
import {
  type Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";

/** What to add for one line: its text, where it begins, its number from 1. */
export type Decorate = (
  add: (from: number, to: number, decoration: Decoration) => void,
  line: { text: string; from: number; number: number },
  view: EditorView,
) => void;

/** `changed`: what else than the view makes them be made anew. */
export function visibleLines(
  decorate: Decorate,
  changed: (update: ViewUpdate) => boolean = () => false,
): Extension {
  const build = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    const add = builder.add.bind(builder);
    let done = -1;
    for (const range of view.visibleRanges) {
      for (let at = range.from; at <= range.to; ) {
        const line = view.state.doc.lineAt(at);
        if (line.from > done) {
          decorate(add, line, view);
          done = line.from;
        }
        at = line.to + 1;
      }
    }
    return builder.finish();
  };
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor(view: EditorView) {
        this.decorations = build(view);
      }
      update(update: ViewUpdate) {
        if (update.docChanged || update.viewportChanged || changed(update)) {
          this.decorations = build(update.view);
        }
      }
    },
    { decorations: (value) => value.decorations },
  );
}
