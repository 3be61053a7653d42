// FX code carries a type behind every name, which pushes the operation out of sight. Folded, a type
// is one dot that tells it on hover.
import { type Extension, RangeSetBuilder } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  type EditorView,
  ViewPlugin,
  type ViewUpdate,
  WidgetType,
} from "@codemirror/view";

/** Sample: `add_1: "f32[4, 256][256, 1]cpu" = torch.ops.…`, `primals_1: "f32[8192, 256]", …` */
const ANNOTATION = /: "(?:Sym\(|[a-z]+\d*\[)[^"\n]*"/g;

class Folded extends WidgetType {
  private readonly text: string;

  constructor(text: string) {
    super();
    this.text = text;
  }

  override eq(other: Folded): boolean {
    return other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const dot = document.createElement("span");
    dot.className = "folded";
    dot.textContent = "·";
    dot.title = this.text;
    return dot;
  }
}

export function foldedAnnotations(): Extension {
  const build = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    let done = -1;
    for (const range of view.visibleRanges) {
      for (let at = range.from; at <= range.to; ) {
        const line = view.state.doc.lineAt(at);
        if (line.from > done) {
          for (const found of line.text.matchAll(ANNOTATION)) {
            const from = line.from + found.index;
            const widget = new Folded(found[0].slice(3, -1));
            builder.add(from, from + found[0].length, Decoration.replace({ widget }));
          }
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
