// Irrelevant differences: comments, paths, digests, the numbers of buffers and nodes. Pure.
import type { Slices } from "../../shared/frames";
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
export function* withoutNoise(
  [left, right]: readonly [Side, Side],
  [ours, theirs]: readonly [readonly LevelLine[], readonly LevelLine[]],
): Slices<[Side, Side]> {
  const says = (lines: readonly LevelLine[], line: number) =>
    meaningOf(lines[line - 1]?.text ?? "") !== "";
  function* kept(side: Side, mine: readonly LevelLine[], other: readonly LevelLine[]) {
    const only = new Set<number>();
    const [moved, changed]: [Side["moved"], Side["changed"]] = [new Map(), new Map()];
    for (const line of side.only) {
      yield;
      if (says(mine, line)) only.add(line);
    }
    for (const [line, across] of side.moved) {
      yield;
      if (says(mine, line)) moved.set(line, across);
    }
    for (const [line, spans] of side.changed) {
      yield;
      const beside = other[(side.beside.get(line) ?? 0) - 1]?.text ?? "";
      if (meaningOf(mine[line - 1]?.text ?? "") !== meaningOf(beside)) changed.set(line, spans);
    }
    return { ...side, only, moved, changed };
  }
  return [yield* kept(left, ours, theirs), yield* kept(right, theirs, ours)];
}
