// Folds the noise of FX code, which pushes the operations off the screen: a type after every name,
// `torch.ops.aten.` before every operation, `x = None` after every last use, and whole paths in
// comments. A folded type is a dot and a folded path an ellipsis, with the whole text on hover; the
// rest is hidden.
import type { Extension } from "@codemirror/state";
import { Decoration, WidgetType } from "@codemirror/view";
import { visibleLines } from "./visible-lines";

/** Sample: `add_1: "f32[4, 256][256, 1]cpu" = torch.ops.…`, `primals_1: "f32[8192, 256]", …` */
const ANNOTATION = /: "(?:Sym\(|[a-z]+\d*\[)[^"\n]*"/g;

/** Sample: `torch.ops.aten.`, `torch.ops.prims.`, `.default(`, `;  permute = view_1 = None` */
const NOISE = /torch\.ops\.(?:aten\.)?|\.default(?=\()|;\s+(?:\w+ = )+None\s*$/g;

/** Sample: `# File: /home/user/models/models.py:26 in forward, code: q = self.qkv(x)` */
const FOLDERS = /^(\s*# File: )(\/\S*\/)(?=[^/\s]+:\d)/;

/** The text remains for search and copy. */
const QUIET = Decoration.mark({ class: "quiet" });

class Folded extends WidgetType {
  constructor(
    private readonly text: string,
    private readonly sign: string,
  ) {
    super();
  }

  override eq(other: Folded): boolean {
    return other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const dot = document.createElement("span");
    dot.className = "folded";
    dot.textContent = this.sign;
    dot.title = this.text;
    return dot;
  }
}

export const foldedAnnotations: Extension = visibleLines((add, line) => {
  const comment = FOLDERS.exec(line.text);
  if (comment?.[1] && comment[2]) {
    const from = line.from + comment[1].length;
    const widget = new Folded(comment[2], "…/");
    add(from, from + comment[2].length, Decoration.replace({ widget }));
    return;
  }
  const types = Array.from(line.text.matchAll(ANNOTATION), (found) => {
    const widget = new Folded(found[0].slice(3, -1), "·");
    return { found, decoration: Decoration.replace({ widget }) };
  });
  const noise = Array.from(line.text.matchAll(NOISE), (found) => ({ found, decoration: QUIET }));
  const inOrder = [...types, ...noise].sort((one, other) => one.found.index - other.found.index);
  for (const { found, decoration } of inOrder) {
    const from = line.from + found.index;
    add(from, from + found[0].length, decoration);
  }
});
