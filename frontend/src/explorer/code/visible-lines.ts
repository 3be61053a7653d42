// Decorations of the visible lines, rebuilt when these change, each line once. A very long line is
// visible in several pieces; its first one is decorated.
import { type Extension, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";

/** The decorations of one line: its text, where it begins, its number from 1. */
export type Decorate = (
  add: (from: number, to: number, decoration: Decoration) => void,
  line: { text: string; from: number; number: number },
  view: EditorView,
) => void;

/** `changed`: other changes after which to rebuild them. `hides`: they hide text, which the caret
 * passes over. */
export function visibleLines(
  decorate: Decorate,
  changed: (update: ViewUpdate) => boolean = () => false,
  hides = false,
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
    {
      decorations: (value) => value.decorations,
      provide: (plugin) =>
        EditorView.atomicRanges.of((view) => {
          return (hides && view.plugin(plugin)?.decorations) || Decoration.none;
        }),
    },
  );
}
