// Irrelevant differences: comments, paths, digests, the numbers of buffers and nodes. Pure.
import { type LevelLine, type Side, withoutNumbers } from "./level";

/** A line without what differs between any two compiles; empty if nothing else is left. */
export function meaningOf(text: string): string {
  return withoutNumbers(
    text
      .replace(/(?:^|\s)(?:#|\/\/)(?: .*)?$/, "")
      .replace(/(?:\/[\w.@+~-]+){2,}/g, "/…")
      .replace(/\b[a-z0-9]{40,}\b/g, "…"),
  );
}

/** Both sides without irrelevant differences. */
export function withoutNoise(
  [left, right]: readonly [Side, Side],
  [ours, theirs]: readonly [readonly LevelLine[], readonly LevelLine[]],
): [Side, Side] {
  const says = (lines: readonly LevelLine[], line: number) =>
    meaningOf(lines[line - 1]?.text ?? "") !== "";
  const kept = (side: Side, mine: readonly LevelLine[], other: readonly LevelLine[]): Side => {
    const differs = (line: number) =>
      meaningOf(mine[line - 1]?.text ?? "") !==
      meaningOf(other[(side.beside.get(line) ?? 0) - 1]?.text ?? "");
    return {
      ...side,
      only: new Set([...side.only].filter((line) => says(mine, line))),
      moved: new Map([...side.moved].filter(([line]) => says(mine, line))),
      changed: new Map([...side.changed].filter(([line]) => differs(line))),
    };
  };
  return [kept(left, ours, theirs), kept(right, theirs, ours)];
}
