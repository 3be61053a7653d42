// Answers what the explorer shows for selections: read from the input as JSON, written as JSON.
// `tests/test_certainty.py` compares it with what Python says of the same links.
import { readFileSync } from "node:fs";
import type { GraphPicture, Links } from "../src/explorer/shapes";
import { KERNEL } from "../src/explorer/state/certainty";
import { chainOf } from "../src/explorer/state/chain";
import { selectNamed } from "../src/explorer/state/follow";
import { LinkIndex } from "../src/explorer/state/links";
import { classesOf, NO_MARKS } from "../src/explorer/state/marks";
import { reasonOf } from "../src/explorer/state/reasons";
import { ofSelection } from "../src/explorer/state/summary";

interface Asked {
  links: Links;
  picture: GraphPicture;
  selections: { key: string; line: number; entity: string | null }[];
}

const { links, picture, selections } = JSON.parse(readFileSync(0, "utf8")) as Asked;
const index = new LinkIndex(links);

function shown({ key, line, entity }: Asked["selections"][number]) {
  const selected = entity ? selectNamed(index, picture, entity) : index.selectLine(key, line);
  if (!selected) return null;
  const edges: Record<string, Record<number, string>> = {};
  const reasons: Record<string, Record<number, number>> = {};
  for (const stage of index.keys()) {
    const pinned = index.matches(selected, stage);
    const lines = [...pinned.lines];
    const marks = { ...NO_MARKS, pinned };
    edges[stage] = Object.fromEntries(lines.map((each) => [each, classesOf(marks, each)]));
    const lit = (each: number) => ({ stage, title: "", key: stage, line: each });
    reasons[stage] = Object.fromEntries(
      lines.map((each) => [each, reasonOf(index, selected, lit(each))?.known ?? 0]),
    );
  }
  const steps = chainOf(index, picture, selected).steps.map(({ title, links }) => ({
    title,
    links: links.map(({ known, place }) => ({ known, key: place?.key, line: place?.line })),
  }));
  return { chip: ofSelection(index, selected), edges, reasons, steps, least: KERNEL };
}

process.stdout.write(JSON.stringify(selections.map(shown)));
