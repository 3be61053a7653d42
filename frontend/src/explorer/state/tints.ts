// Which lines share a colour: every source line has one, and the lines that it became have the
// same. Pure.
import { POST_GRAD } from "../../shared/vocabulary";
import type { LinkIndex } from "./links";

/** Colours of the palette; further lines start again with the first. */
export const TINTS = 8;

/** A line without a colour. */
export const PLAIN = 0;

export class Tints {
  /** Stages whose lines give the colours: the sources, or else the nodes of the graph. */
  private readonly sources: readonly string[];
  private ofNode: Map<string, number> | null = null;
  private readonly known = new Map<string, Map<number, number>>();

  constructor(
    private readonly index: LinkIndex,
    sources: readonly string[],
  ) {
    const linked = sources.map((path) => `source:${path}`).filter((key) => index.has(key));
    this.sources = linked.length ? linked : [POST_GRAD];
  }

  /** The colour of a line, from 1 to `TINTS`; `PLAIN` if it does not come from a single source
   * line. */
  of(key: string, line: number): number {
    const lines = this.known.get(key) ?? new Map<number, number>();
    this.known.set(key, lines);
    const tint = lines.get(line) ?? this.find(key, line);
    lines.set(line, tint);
    return tint;
  }

  private find(key: string, line: number): number {
    this.ofNode ??= this.nodes();
    const found = new Set<number>();
    const own = this.sources.includes(key);
    // If only the kernel is known, that says nothing about a single line.
    for (const name of this.index.namesAt(key, line, line, "", key === "code" ? 2 : 1)) {
      const number = this.ofNode.get(own && key !== POST_GRAD ? `${key}:${line}` : name);
      if (number !== undefined) found.add(number);
    }
    const [number] = found;
    return found.size === 1 && number !== undefined ? (number % TINTS) + 1 : PLAIN;
  }

  /** Node, or line of a source → the number of the line that gives its colour. */
  private nodes(): Map<string, number> {
    const numbers = new Map<string, number>();
    let next = 0;
    for (const key of this.sources) {
      for (const line of this.index.linkedLines(key)) {
        const names = this.index
          .namesAt(key, line, line, "")
          .filter((name) => /^(?:fx|rd|dyn):/.test(name));
        // A stack comment in a graph refers to all the nodes below it.
        if (!names.length || (key === POST_GRAD && names.length > 1)) continue;
        numbers.set(`${key}:${line}`, next);
        for (const name of names) if (!numbers.has(name)) numbers.set(name, next);
        next++;
      }
    }
    return numbers;
  }
}
