// Finds what in the open graph has a name with given words. Pure.

import { titleOf } from "../../shared/naming";
import { READABLE } from "../../shared/vocabulary";
import type { GraphPicture, Kernel } from "../shapes";
import type { Target } from "./address";
import type { LinkIndex } from "./links";

export interface Found {
  kind: string;
  name: string;
  /** Distinguishes equal names. */
  note: string;
  kernel: Kernel | null;
  target: Target;
}

const KINDS: Record<string, string> = { fx: "FX node", rd: titleOf(READABLE), buf: "buffer" };
/** Most entries listed of a kind. */
const MOST = 8;

/** The rank of a name among matches: equal first, then by beginning, then others, short ones
 * first. */
function rank(name: string, word: string): number {
  if (name === word) return 0;
  return (name.startsWith(word) ? 1 : 2) + name.length / 10_000;
}

function best<Item>(
  items: Iterable<Item>,
  nameOf: (item: Item) => string,
  words: string[],
): Item[] {
  const found: { item: Item; rank: number }[] = [];
  for (const item of items) {
    const name = nameOf(item).toLowerCase();
    if (words.every((word) => name.includes(word))) {
      found.push({ item, rank: rank(name, words[0] ?? "") });
    }
  }
  found.sort((one, other) => one.rank - other.rank);
  return found.slice(0, MOST).map(({ item }) => item);
}

export function search(query: string, picture: GraphPicture, index: LinkIndex): Found[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const kernels = best(picture.kernels, (kernel) => kernel.name, words).map((kernel) => ({
    kind: "kernel",
    name: kernel.name,
    note: "",
    kernel,
    target: { entity: `kernel:${kernel.name}` },
  }));
  const entities = Object.keys(KINDS).flatMap((kind) => {
    const start = `${kind}:`;
    const named = index.entities.filter((entity) => entity.startsWith(start));
    return best(named, (entity) => entity.slice(start.length), words).map((entity) => ({
      kind: KINDS[kind] ?? kind,
      name: entity.slice(start.length),
      note: "",
      kernel: null,
      target: { entity },
    }));
  });
  const files = picture.stages.find((stage) => stage.id === "source")?.files ?? [];
  const [, path, line] = /^(.+?)(?::(\d+))?$/.exec(query.trim()) ?? [];
  const sources = best(files, (file) => file.path, [(path ?? "").toLowerCase()]).map((file) => ({
    kind: "source",
    name: line ? `${file.path}:${line}` : file.path,
    note: line ? "" : `${file.lines ?? "?"} lines`,
    kernel: null,
    target: { stage: "source", file: file.path, line: Number(line ?? file.first) },
  }));
  return [...kernels, ...entities, ...sources];
}
