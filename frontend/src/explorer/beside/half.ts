// One side of two texts: its choosers, its text, and what its lines are.
import { stageNamed } from "../../shared/naming";
import { ask } from "../../shared/server";
import { Code, type CodeEvents, type CodeOptions } from "../code/code";
import { type LevelLine, operationOf, withoutNumbers } from "../code/level";
import type { GraphPicture, Kernel, Links } from "../shapes";
import { contentOf } from "../state/content";
import { kernelNamed } from "../state/follow";
import { LinkIndex } from "../state/links";
import { Texts } from "../state/texts";
import type { Named } from "./name";

/** How a line begins: `xnumel =`, `size_hints=`, `op2.writes =`. */
function startOf(plain: string): string {
  return /^[\w.@%#]{3,}(?: ?[=(:])?/.exec(plain)?.[0] ?? plain;
}

export class Half {
  readonly root: HTMLElement;
  readonly named: Named;
  code: Code | null = null;
  first = 1;
  texts: string[] = [];
  picture: GraphPicture | null = null;
  private index: LinkIndex | null = null;
  private key = "";
  private readonly nonce: string;

  constructor(root: HTMLElement, nonce: string) {
    this.root = root;
    this.nonce = nonce;
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

  /** Fetch what the graph has; the choosers then know it all. */
  async fetch(): Promise<void> {
    const { explorerUrl = "", linksUrl = "" } = this.root.dataset;
    const [picture, links] = await Promise.all([
      ask<GraphPicture>(explorerUrl),
      ask<Links>(linksUrl),
    ]);
    this.picture = picture;
    this.index = new LinkIndex(links);
    const coded = picture.kernels.filter((kernel) => kernel.first !== null);
    if (!kernelNamed(picture, this.named.kernel)) this.named.kernel = coded[0]?.name ?? "";
  }

  /** Put the text in; a sentence when there is none. */
  async show(events: CodeEvents, options: CodeOptions): Promise<string | null> {
    const { picture, named } = this;
    if (!picture) return "The graph could not be fetched.";
    const address = { stage: named.stage, file: null, hops: 0 };
    const content = contentOf(picture, address, this.kernel);
    if (content.kind === "empty") return `${content.what} ${content.why}`;
    if (content.kind === "picture") return "A picture has no lines to compare.";
    const texts = new Texts((artifact) => `/api/artifacts/${artifact}/text`);
    const lines = await texts.lines(content.file.artifact);
    this.first = content.first;
    this.key = content.key;
    this.texts = lines.slice(content.first - 1, content.last);
    const body = this.part(".pane-body");
    body.replaceChildren();
    this.code = new Code(body, events, this.nonce);
    const { language, label, annotated } = content;
    const text = this.texts.join("\n");
    const shown = { text, first: this.first, language, label, annotated };
    const wrapper = named.stage === "wrapper";
    this.code.show({ ...shown, rebuilt: false, timed: false, wrapper }, options, null);
    return null;
  }

  /** What each line is: within one graph also by the node or operation that it names. */
  lines(sameGraph: boolean): LevelLine[] {
    const ofNodes = stageNamed(this.named.stage)?.nodes ?? false;
    return this.texts.map((text, at) => {
      const plain = text.trim();
      const named = sameGraph && this.index ? this.entityOf(at + this.first, text) : null;
      const rough = ofNodes ? operationOf(text) : withoutNumbers(text);
      return { tokens: [named ?? plain, plain, withoutNumbers(text), rough, startOf(plain)], text };
    });
  }

  private entityOf(line: number, text: string): string | null {
    if (/^\s*(#|\/\/)/.test(text)) return null; // comments name the node below them
    for (const kind of ["op:", "fx:"]) {
      const names = this.index?.namesAt(this.key, line, line, kind, 3) ?? [];
      if (names.length === 1) return names[0] ?? null;
    }
    return null;
  }
}
