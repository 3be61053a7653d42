// The reader's preferences, which links do not include.
import { choose, chosen } from "../../shared/choices";

const ARRANGED = ["panes", "width"];

function choice(name: string, standard: "0" | "1") {
  return {
    read: () => (chosen(name) ?? standard) === "1",
    write: (value: boolean) => choose(name, value ? "1" : "0"),
  };
}

/** The panes as the reader last arranged them, as fields of an address. A choice holds no commas. */
export const panes = {
  read: () =>
    ARRANGED.map((name) => `${name}=${(chosen(name) ?? "").replaceAll(".", ",")}`).join("&"),
  write(fields: URLSearchParams): void {
    for (const name of ARRANGED) choose(name, (fields.get(name) ?? "").replaceAll(",", "."));
  },
};
export const fold = choice("fold-types", "1");
export const wrap = choice("wrap-lines", "0");
export const hideNoise = choice("hide-noise", "1");
export const colours = choice("line-colours", "1");
export const chainOpen = choice("chain-open", "1");
