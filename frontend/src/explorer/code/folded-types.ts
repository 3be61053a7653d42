// Folds the noise of FX code, which pushes the operations off the screen: a type after every name,
// `torch.ops.aten.` before every operation, `x = None` after every last use, and whole paths in
// comments. A folded type is a dot and a folded path an ellipsis, with the whole text on hover; the
// rest is hidden.
import type { Extension } from "@codemirror/state";
import { Decoration } from "@codemirror/view";
import { make } from "../../shared/elements";
import { Inserted } from "./elements";
import { type Decorate, visibleLines } from "./visible-lines";

/** Sample: `add_1: "f32[4, 256][256, 1]cpu" = torch.ops.…`, `primals_1: "f32[8192, 256]", …` */
const ANNOTATION = /: "(?:Sym\(|[a-z]+\d*\[)[^"\n]*"/g;

/** Sample: `torch.ops.aten.`, `torch.ops.prims.`, `.default(`, `;  permute = view_1 = None` */
const NOISE = /torch\.ops\.(?:aten\.)?|\.default(?=\()|;\s+(?:\w+ = )+None\s*$/g;

/** Sample: `# File: /home/user/models/models.py:26 in forward, code: q = self.qkv(x)` */
const FOLDERS = /^(\s*# File: )(\/\S*\/)(?=[^/\s]+:\d)/;

/** The text remains for search and copy. */
const QUIET = Decoration.mark({ class: "quiet" });

function folded(text: string, sign: string): Decoration {
  const widget = new Inserted(text, () => make("span", { class: "folded", title: text }, sign));
  return Decoration.replace({ widget });
}

export const foldedAnnotations: Extension = visibleLines(fold, undefined, true);

function fold(add: Parameters<Decorate>[0], line: Parameters<Decorate>[1]): void {
  const comment = FOLDERS.exec(line.text);
  if (comment?.[1] && comment[2]) {
    const from = line.from + comment[1].length;
    add(from, from + comment[2].length, folded(comment[2], "…/"));
    return;
  }
  const types = Array.from(line.text.matchAll(ANNOTATION), (found) => {
    return { found, decoration: folded(found[0].slice(3, -1), "·") };
  });
  const noise = Array.from(line.text.matchAll(NOISE), (found) => ({ found, decoration: QUIET }));
  const inOrder = [...types, ...noise].sort((one, other) => one.found.index - other.found.index);
  for (const { found, decoration } of inOrder) {
    const from = line.from + found.index;
    add(from, from + found[0].length, decoration);
  }
}
