// What a pane can be compared with: its neighbour, the previous stage, another kernel, another
// graph.

import { button, make } from "../../shared/elements";
import { isCompiled, stageNamed } from "../../shared/naming";
import { POST_GRAD } from "../../shared/vocabulary";
import { type Named, nameOf } from "../beside/name";
import type { GraphPicture, Kernel } from "../shapes";
import { menuOf } from "./menu";

export interface Sibling {
  slug: string;
  direction: string;
}

export interface Entry {
  label: string;
  /** Line of the left text to open on. */
  line?: number | null;
  left: Named;
  right: Named;
}

/** The most similar kernel: of the same kind, with the longest common beginning of the name. */
function mostAlike(kernels: readonly Kernel[], one: Kernel): Kernel | null {
  const alike = (other: Kernel) => {
    let at = 0;
    while (at < one.name.length && one.name[at] === other.name[at]) at++;
    return at + (other.category === one.category ? 1000 : 0);
  };
  const others = kernels.filter((each) => each.name !== one.name && each.first !== null);
  return others.sort((first, second) => alike(second) - alike(first))[0] ?? null;
}

export function entriesOf(
  picture: GraphPicture,
  siblings: readonly Sibling[],
  stage: string,
  kernel: Kernel | null,
  line: number | null,
): Entry[] {
  if (isCompiled(stage)) return [];
  const { run, graph } = picture;
  const shown = stage === "source" || stage.startsWith("picture") ? POST_GRAD : stage;
  const name = kernel && kernel.first !== null ? kernel.name : "";
  const here: Named = { run: run.id, graph: graph.slug, stage: shown, kernel: name };
  const entries: Entry[] = [];
  const titleOf = (id: string) => picture.stages.find((each) => each.id === id)?.title ?? id;
  const has = (id: string) => picture.stages.some((each) => each.id === id && each.files.length);
  const before = stageNamed(shown)?.made_from;
  if (before && has(before) && has(shown)) {
    const label = `${titleOf(before)}, which it was made from`;
    entries.push({ label, left: { ...here, stage: before }, right: here });
  }
  if (shown === "kernel" && kernel) {
    const other = mostAlike(picture.kernels, kernel);
    if (other) {
      const right = { ...here, kernel: other.name };
      entries.push({ label: "Another kernel of this graph", left: here, right });
    }
  }
  if (!has(shown)) return entries;
  const others = siblings.filter(({ slug }) => slug !== graph.slug);
  const like = others.find(({ direction }) => direction === graph.direction) ?? others[0];
  const right = { ...here, graph: like?.slug ?? graph.slug };
  const label = like ? "The same of another graph or run" : "The same of another run";
  entries.push({ label, line, left: here, right });
  return entries;
}

/** The button in a pane's head, and the menu that it opens. */
export function compareMenu(
  id: string,
  entries: () => Entry[],
  withNeighbour: () => void,
): [HTMLElement, HTMLElement] {
  return menuOf(id, { sign: "⇄", title: "Compare this pane with" }, () => {
    const attributes = { class: "menu-entry", popovertarget: id, popovertargetaction: "hide" };
    const label = ["The pane on the right, lines aligned", make("kbd", {}, "d")];
    const neighbour = button(label, attributes, withNeighbour);
    const links = entries().map(({ label, line, left, right }) => {
      const href = `/beside?left=${nameOf(left)}&right=${nameOf(right)}${line ? `#line=${line}` : ""}`;
      return make("a", { class: "menu-entry", href }, label);
    });
    return [make("p", { class: "soft" }, "Compare with"), neighbour, ...links];
  });
}
