// Texts of artifacts, fetched once each.
import { askText } from "../server";

export class Texts {
  private readonly urlOf: (artifact: number) => string;
  private readonly known = new Map<number, Promise<string>>();

  constructor(urlOf: (artifact: number) => string) {
    this.urlOf = urlOf;
  }

  of(artifact: number): Promise<string> {
    let text = this.known.get(artifact);
    if (!text) {
      text = askText(this.urlOf(artifact));
      text.catch(() => this.known.delete(artifact)); // the next look tries again
      this.known.set(artifact, text);
    }
    return text;
  }
}
