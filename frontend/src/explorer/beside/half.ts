// One of two texts side by side: its choosers, its text, and the meaning of its lines.
import type { Slices } from "../../shared/frames";
import { stageNamed } from "../../shared/naming";
import { ask } from "../../shared/server";
import { Code, type CodeEvents, type CodeOptions } from "../code/code";
import { type LevelLine, operationOf, withoutNumbers } from "../code/level";
import { entityOf } from "../panes/compare";
import type { GraphPicture, Kernel, Links } from "../shapes";
import { contentOf } from "../state/content";
import { kernelNamed } from "../state/follow";
import { EVERY_CALL, LinkIndex, linksOfShown } from "../state/links";
import { Texts } from "../state/texts";
import type { Named } from "./name";

/** The beginning of a line: `xnumel =`, `size_hints=`, `op2.writes =`. */
function startOf(plain: string): string {
  return /^[\w.@%#]{3,}(?: ?[=(:])?/.exec(plain)?.[0] ?? plain;
}

export class Half {
  readonly named: Named;
  code: Code | null = null;
  first = 1;
  texts: string[] = [];
  picture: GraphPicture | null = null;
  private index: LinkIndex | null = null;
  private key = "";

  constructor(readonly root: HTMLElement) {
    const { run = "", graph = "", stage = "", kernel = "" } = root.dataset;
    this.named = { run, graph, stage, kernel };
  }

  part<Part extends HTMLElement>(selector: string): Part {
    return this.root.querySelector(selector) as Part;
  }

  get title(): string {
    const stage = this.picture?.stages.find((each) => each.id === this.named.stage);
    return this.named.stage === "kernel" ? this.named.kernel : (stage?.title ?? this.named.stage);
  }

  get kernel(): Kernel | null {
    return this.picture ? kernelNamed(this.picture, this.named.kernel) : null;
  }

  /** Fetch the graph's data and fill the choosers. */
  async fetch(): Promise<void> {
    const { explorerUrl = "", linksUrl = "" } = this.root.dataset;
    const [picture, links] = await Promise.all([
      ask<GraphPicture>(explorerUrl),
      ask<Links>(linksUrl),
    ]);
    this.picture = picture;
    this.index = new LinkIndex(linksOfShown(links, picture.stages));
    if (!this.named.kernel) {
      this.named.kernel = picture.kernels.find(({ first }) => first !== null)?.name ?? "";
    }
  }

  /** Show the text, or a sentence if there is none. */
  async show(events: CodeEvents, options: CodeOptions): Promise<string | null> {
    const { picture, named } = this;
    if (!picture) return "The graph could not be fetched.";
    const address = { stage: named.stage, file: null, hops: 0 };
    if (named.stage === "kernel" && named.kernel && !this.kernel) {
      return `${picture.graph.slug} has no kernel ${named.kernel}. Choose one above.`;
    }
    const content = contentOf(picture, address, this.kernel);
    if (content.kind === "empty") return `${content.what} ${content.why}`;
    if (content.kind === "picture") return "A picture has no lines to compare.";
    const texts = new Texts();
    const lines = await texts.lines(content.file.artifact);
    this.first = content.first;
    this.key = content.key;
    this.texts = lines.slice(content.first - 1, content.last);
    const body = this.part(".pane-body");
    body.replaceChildren();
    this.code = new Code(body, events);
    const text = this.texts.join("\n");
    const shown = { ...content, text, rebuilt: false, timed: false };
    this.code.show(shown, options, null);
    return null;
  }

  /** The source lines that lines of this graph's stage, or of its output code, come from. */
  sourcesOf(key: string, first: number, last = first): Set<string> {
    const { index } = this;
    const found = new Set<string>();
    if (!index) return found;
    const selected = index.selectLine(key, first, EVERY_CALL, last);
    const source = this.picture?.stages.find(({ id }) => id === "source");
    for (const { path } of source?.files ?? []) {
      const end = path.split("/").at(-1) ?? path;
      const { lines } = index.matches(selected, `source:${path}`);
      for (const line of lines) found.add(`${end}:${line}`);
    }
    return found;
  }

  /** A visible line that comes from one of these source lines, with the same operation if
   * possible. */
  lineFrom(sources: ReadonlySet<string>, like: string): number | null {
    const { index, first, texts, key } = this;
    if (!index) return null;
    const lines = index
      .linkedLines(key)
      .filter((line) => line >= first && line < first + texts.length);
    const textOf = (line: number) => texts[line - first] ?? "";
    const found = lines.filter((line) => {
      const isComment = /^\s*(#|\/\/)/.test(textOf(line));
      return !isComment && [...this.sourcesOf(key, line)].some((source) => sources.has(source));
    });
    const wanted = operationOf(like);
    return found.find((line) => operationOf(textOf(line)) === wanted) ?? found[0] ?? null;
  }

  sourcesOfLine(line: number): Set<string> {
    return this.sourcesOf(this.key, line);
  }

  /** The source lines that a kernel comes from. */
  private sourcesOfKernel({ first, last }: Kernel): Set<string> {
    return first === null ? new Set() : this.sourcesOf("code", first, last ?? first);
  }

  /** Show the kernel that corresponds to the other side's: the one with the same call content, or
   * else with most of its source lines. Returns a sentence that says which it is, or that there is
   * none; null if the name already says it. */
  follow(other: Half): string | null {
    const wanted = other.kernel;
    const { picture } = this;
    if (this.named.stage !== "kernel" || this.kernel || !wanted || !picture) return null;
    const coded = picture.kernels.filter((kernel) => kernel.first !== null);
    const links = new Set(wanted.calls.map(({ permalink }) => permalink));
    const same = coded.find(({ calls }) => calls.some(({ permalink }) => links.has(permalink)));
    if (same) {
      this.named.kernel = same.name;
      return `${same.name} is exactly the same kernel.`;
    }
    const sources = other.sourcesOfKernel(wanted);
    const ranked = coded
      .map((kernel) => {
        const own = this.sourcesOfKernel(kernel);
        const both = [...own].filter((source) => sources.has(source)).length;
        return { kernel, both, alike: both / (own.size + sources.size - both || 1) };
      })
      .sort((one, another) => another.alike - one.alike);
    const [best] = ranked;
    if (!best?.both)
      return `${picture.graph.slug} has no kernel from the same lines as ${wanted.name}.`;
    this.named.kernel = best.kernel.name;
    const lines = [...this.sourcesOfKernel(best.kernel)].filter((source) => sources.has(source));
    return `${best.kernel.name} comes from the same ${lines.length === 1 ? "line" : "lines"}: ${lines.slice(0, 3).join(", ")}.`;
  }

  /** The meaning of each line: within one graph, also the node or operation that it names. */
  *lines(sameGraph: boolean): Slices<LevelLine[]> {
    const ofNodes = stageNamed(this.named.stage)?.nodes ?? false;
    const lines: LevelLine[] = [];
    for (const [at, text] of this.texts.entries()) {
      yield;
      const plain = text.trim();
      const named =
        sameGraph && this.index && entityOf(this.index, this.key, at + this.first, text);
      const rough = ofNodes ? operationOf(text) : withoutNumbers(text);
      const tokens = [named || plain, plain, withoutNumbers(text), rough, startOf(plain)];
      lines.push({ tokens, text });
    }
    return lines;
  }
}
