// Elements in and beside a text. Of two that say the same, CodeMirror keeps the first.
import { type EditorView, GutterMarker, WidgetType } from "@codemirror/view";
import { make } from "../../shared/elements";

/** An element in a text; `says` tells it from others at its place. */
export class Inserted extends WidgetType {
  constructor(
    private readonly says: string,
    private readonly made: (view: EditorView) => HTMLElement,
    private readonly height = -1,
  ) {
    super();
  }

  override get estimatedHeight(): number {
    return this.height;
  }

  override eq(other: Inserted): boolean {
    return other.says === this.says;
  }

  override toDOM(view: EditorView): HTMLElement {
    return this.made(view);
  }
}

/** The class of a line's place in a gutter. */
export class Sign extends GutterMarker {
  constructor(
    override readonly elementClass: string,
    private readonly title = "",
  ) {
    super();
  }

  override eq(other: Sign): boolean {
    return other.elementClass === this.elementClass && other.title === this.title;
  }

  override toDOM(): HTMLElement {
    return make("span", { title: this.title || null });
  }
}
