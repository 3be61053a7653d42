// Texts of artifacts, each fetched once, and their single lines.

import { whenIdle } from "../../shared/frames";
import { once } from "../../shared/once";
import { askText } from "../../shared/server";
import { slice } from "./content";

export class Texts {
  readonly of = once((artifact: number) => askText(`/api/artifacts/${artifact}/text`));

  /** The lines of a text; the first has index 0. */
  readonly lines = once(async (artifact: number): Promise<readonly string[]> => {
    return (await this.of(artifact)).split("\n");
  });

  /** Lines first to last of a text, counted from 1, both included. A long text is not split
   * completely while somebody waits for its first few lines. */
  async part(artifact: number, first: number, last: number): Promise<string> {
    if (first > 1 && this.lines.has(artifact)) {
      return (await this.lines(artifact)).slice(first - 1, last).join("\n");
    }
    const text = await this.of(artifact);
    if (first > 1) whenIdle(() => void this.lines(artifact));
    return slice(text, first, last);
  }
}
