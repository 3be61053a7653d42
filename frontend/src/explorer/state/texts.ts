// Texts of artifacts, each fetched once, and their single lines.

import { whenIdle } from "../../shared/frames";
import { askText } from "../../shared/server";
import { slice } from "./content";

export class Texts {
  private readonly urlOf: (artifact: number) => string;
  private readonly known = new Map<number, Promise<string>>();
  private readonly split = new Map<number, Promise<readonly string[]>>();

  constructor(urlOf: (artifact: number) => string) {
    this.urlOf = urlOf;
  }

  of(artifact: number): Promise<string> {
    let text = this.known.get(artifact);
    if (!text) {
      text = askText(this.urlOf(artifact));
      text.catch(() => this.known.delete(artifact)); // the next attempt tries again
      this.known.set(artifact, text);
    }
    return text;
  }

  /** Lines first to last of a text, counted from 1, both included. A long text is not split
   * completely while somebody waits for its first few lines. */
  async part(artifact: number, first: number, last: number): Promise<string> {
    if (first > 1 && this.split.has(artifact)) {
      return (await this.lines(artifact)).slice(first - 1, last).join("\n");
    }
    const text = await this.of(artifact);
    if (first > 1) whenIdle(() => void this.lines(artifact));
    return slice(text, first, last);
  }

  /** The lines of a text; the first has index 0. */
  lines(artifact: number): Promise<readonly string[]> {
    let lines = this.split.get(artifact);
    if (!lines) {
      lines = this.of(artifact).then((text) => text.split("\n"));
      lines.catch(() => this.split.delete(artifact));
      this.split.set(artifact, lines);
    }
    return lines;
  }
}
