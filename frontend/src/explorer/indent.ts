// Indentation drawn narrower than it is: generated code nests nine deep, and panes are narrow. The
// text itself stays as it is, so that search and copy have all of it.
import { type Extension, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";

const HALF = Decoration.mark({ class: "indent" });
const THIRD = Decoration.mark({ class: "indent deep" });

/** What part of its width a space of indentation keeps; the style sheet says the same. */
export function partKept(language: string): number {
  return language === "cpp" ? 0.35 : 0.5;
}

export function narrowIndents(language: string): Extension {
  const mark = language === "cpp" ? THIRD : HALF;
  const build = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    let done = -1;
    for (const range of view.visibleRanges) {
      for (let at = range.from; at <= range.to; ) {
        const line = view.state.doc.lineAt(at);
        if (line.from > done) {
          const width = /^ */.exec(line.text)?.[0].length ?? 0;
          if (width) builder.add(line.from, line.from + width, mark);
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
        if (update.docChanged || update.viewportChanged) this.decorations = build(update.view);
      }
    },
    { decorations: (value) => value.decorations },
  );
}
