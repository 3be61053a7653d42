// The reader's preferences, which links do not include.
import { choose, chosen } from "../../shared/choices";

const ARRANGED = ["panes", "width"];

class Choice {
  constructor(
    private readonly name: string,
    private readonly standard: boolean,
  ) {}

  read(): boolean {
    const kept = chosen(this.name);
    return kept === null ? this.standard : kept === "1";
  }

  write(value: boolean): void {
    choose(this.name, value ? "1" : "0");
  }
}

/** The panes as the reader last arranged them, as fields of an address. A choice holds no commas. */
export const panes = {
  read: () =>
    ARRANGED.map((name) => `${name}=${(chosen(name) ?? "").replaceAll(".", ",")}`).join("&"),
  write(fields: URLSearchParams): void {
    for (const name of ARRANGED) choose(name, (fields.get(name) ?? "").replaceAll(",", "."));
  },
};
export const fold = new Choice("fold-types", true);
export const wrap = new Choice("wrap-lines", false);
export const hideNoise = new Choice("hide-noise", true);
export const colours = new Choice("line-colours", true);
export const chainOpen = new Choice("chain-open", true);
