// Compares two panes side by side: lines aligned, scrolled together, differences marked.
import { inSlices, pause, type Slices } from "../../shared/frames";
import type { Code, CodeOptions } from "../code/code";
import { differences, type LevelLine, level, withoutNumbers, withoutStrides } from "../code/level";
import type { LinkIndex } from "../state/links";
import type { ExplorerState } from "../state/state";
import type { Pane } from "./pane";
import type { PaneRow } from "./row";

/** The only node or operation that a line names; null for a comment, which names the node below. */
export function entityOf(index: LinkIndex, key: string, line: number, text: string): string | null {
  if (/^\s*(#|\/\/)/.test(text)) return null;
  const named = ["op:", "fx:"].map((kind) => index.namesAt(key, line, line, kind, 3));
  return named.find((names) => names.length === 1)?.[0] ?? null;
}

/** The token for aligning a line: the only node or operation that it names, or else its words. */
export function* levelLines(
  index: LinkIndex,
  key: string,
  texts: readonly string[],
  first = 1,
): Slices<LevelLine[]> {
  const lines: LevelLine[] = [];
  for (const [at, text] of texts.entries()) {
    yield;
    const token = entityOf(index, key, first + at, text) ?? text.trim();
    lines.push({ tokens: [token, withoutNumbers(withoutStrides(text))], text });
  }
  return lines;
}

function linesOf(index: LinkIndex, { content, code }: Pane): Slices<LevelLine[]> {
  const { key = "", first = 1 } = content?.kind === "code" ? content : {};
  return levelLines(index, key, code?.view.state.doc.toJSON() ?? [], first);
}

export class Comparison {
  private pair: [Pane, Pane] | null = null;
  private stop: (() => void) | null = null;

  constructor(
    private readonly row: PaneRow,
    private readonly state: ExplorerState,
    private readonly options: CodeOptions,
  ) {}

  /** Position of the left one among the panes; null if nothing is compared. */
  get at(): number | null {
    return this.pair ? this.row.panes.indexOf(this.pair[0]) : null;
  }

  holds(pane: Pane): boolean {
    return this.pair?.includes(pane) ?? false;
  }

  /** Compare a pane with the one to its right (the last with the one to its left), or stop
   * comparing. */
  async toggle(pane: Pane | null): Promise<string | null> {
    if (this.pair) {
      this.end();
      return null;
    }
    const { panes } = this.row;
    const at = Math.min(pane ? panes.indexOf(pane) : 0, panes.length - 2);
    const [left, right] = [panes[at], panes[at + 1]];
    if (!left || !right) return "Two panes are needed to compare: add one with a.";
    return this.begin(left, right);
  }

  /** Returns null if another comparison, or none, is wanted meanwhile. `differing`: scroll to the
   * first difference. */
  async begin(left: Pane, right: Pane, differing = false): Promise<string | null> {
    const { index, selected } = this.state;
    const pair: [Pane, Pane] = [left, right];
    if (pair.some((pane) => pane.content?.kind !== "code"))
      return "Both panes must show text to be compared.";
    this.pair = pair;
    const before = await inSlices(linesOf(index, left));
    const after = await inSlices(linesOf(index, right));
    const sides = await inSlices(level(before, after));
    const [one, other] = sides;
    for (const [at, pane] of pair.entries()) {
      await pause();
      if (this.pair !== pair) return null;
      pane.code?.level(sides[at] ?? null, this.options);
    }
    this.stop = scrollTogether(left.code, right.code);
    // Start where both have content, unless a selected line is visible anyway.
    const aligned = before.findIndex((_, line) => one.beside.has(line + 1)) + 1;
    const differs = [one.only, one.changed, one.moved, one.spaces].flatMap((of) => [...of.keys()]);
    const line = differing ? Math.min(...differs) : selected ? 0 : aligned;
    const start = left.content?.kind === "code" ? left.content.first : 1;
    if (line > 0) left.code?.reveal(line + start - 1);
    const words = differences(one, other) || "no line differs";
    return `${left.stage?.title} beside ${right.stage?.title}: ${words}. d ends it.`;
  }

  end(): void {
    if (!this.pair) return;
    this.stop?.();
    for (const pane of this.pair) pane.code?.level(null, this.options);
    this.pair = null;
    this.stop = null;
  }
}

/** Scroll two texts together; the returned function stops it. */
export function scrollTogether(one: Code | null, other: Code | null): () => void {
  const [left, right] = [one?.view.scrollDOM, other?.view.scrollDOM];
  if (!left || !right) return () => {};
  const follow = (from: HTMLElement, to: HTMLElement) => () => {
    if (Math.abs(to.scrollTop - from.scrollTop) > 1) to.scrollTop = from.scrollTop;
  };
  const [ahead, ended] = [follow(left, right), new AbortController()];
  left.addEventListener("scroll", ahead, { passive: true, signal: ended.signal });
  right.addEventListener("scroll", follow(right, left), { passive: true, signal: ended.signal });
  ahead();
  return () => ended.abort();
}
