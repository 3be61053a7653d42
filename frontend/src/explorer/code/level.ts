// Aligns two texts: which lines are side by side. A merge view aligns equal text only, but lines
// that correlate (one node, one operation) belong side by side even if their text differs. So lines
// are aligned by tokens that the links give, or by their text without the numbers in names. Pure.

import { count, thousands } from "../../shared/figures";
import { atOnce, type Slices } from "../../shared/frames";
import { firstOf } from "../../shared/sorted";

/** A line's text and its tokens, from the most to the least certain. Lines that share one of these
 * may be side by side. */
export interface LevelLine {
  tokens: readonly string[];
  text: string;
}

/** Start and end of characters in a line. */
export type Span = [number, number];

export interface Side {
  at: "left" | "right";
  /** Line, from 1 → number of empty rows before it; the key after the last line stands for the
   * end. */
  spaces: Map<number, number>;
  /** Lines that only this side has. */
  only: Set<number>;
  /** Line → the same line on the other side, in another place, because fusion moves nodes. */
  moved: Map<number, number>;
  /** Lines that are side by side, and where they differ. */
  changed: Map<number, Span[]>;
  /** Line → the line next to it on the other side. */
  beside: Map<number, number>;
}

type Pair = [number, number];
type Gap = [number, number, number, number];

/** Largest gap whose lines are all compared with each other, as the product of both lengths. */
const MOST_COMPARED = 250_000;
/** Most words of a line that are compared. */
const MOST_WORDS = 120;

/** Pairs (from 0) of lines with equal tokens, increasing on both sides. Lines that are unique on
 * both sides are anchors; the lines between two anchors are aligned the same way. */
function* between(left: readonly string[], right: readonly string[], gap: Gap): Slices<Pair[]> {
  const pairs: Pair[] = [];
  const open: Gap[] = [gap];
  for (let next = open.pop(); next; next = open.pop()) {
    yield;
    let [from, to, start, end] = next;
    while (from < to && start < end && left[from] === right[start]) pairs.push([from++, start++]);
    while (from < to && start < end && left[to - 1] === right[end - 1]) pairs.push([--to, --end]);
    const anchors = anchorsOf(left, right, from, to, start, end);
    if (!anchors.length) {
      pairs.push(...longest(left, right, [from, to, start, end]));
      continue;
    }
    let [lastLeft, lastRight] = [from, start];
    for (const [one, other] of anchors) {
      pairs.push([one, other]);
      open.push([lastLeft, one, lastRight, other]);
      [lastLeft, lastRight] = [one + 1, other + 1];
    }
    open.push([lastLeft, to, lastRight, end]);
  }
  return pairs.sort((one, other) => one[0] - other[0]);
}

/** The most pairs of a small gap without anchors. */
function longest(left: readonly string[], right: readonly string[], gap: Gap): Pair[] {
  const [from, to, start, end] = gap;
  const [rows, columns] = [to - from, end - start];
  if (!rows || !columns || rows * columns > MOST_COMPARED) return [];
  const wide = columns + 1;
  const best = new Uint16Array((rows + 1) * wide);
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      const at = row * wide + column;
      best[at] =
        left[from + row] === right[start + column]
          ? (best[at + wide + 1] as number) + 1
          : Math.max(best[at + wide] as number, best[at + 1] as number);
    }
  }
  const pairs: Pair[] = [];
  for (let [row, column] = [0, 0]; row < rows && column < columns; ) {
    const at = row * wide + column;
    if (left[from + row] === right[start + column]) pairs.push([from + row++, start + column++]);
    else if ((best[at + wide] as number) >= (best[at + 1] as number)) row++;
    else column++;
  }
  return pairs;
}

function uniques(tokens: readonly string[], from: number, to: number): Map<string, number> {
  const found = new Map<string, number>();
  for (let at = from; at < to; at++) {
    const token = tokens[at] as string;
    found.set(token, found.has(token) ? -1 : at);
  }
  return found;
}

/** The longest sequence of lines that are unique on both sides and in the same order on both. */
function anchorsOf(
  left: readonly string[],
  right: readonly string[],
  from: number,
  to: number,
  start: number,
  end: number,
): Pair[] {
  const there = uniques(right, start, end);
  const both: Pair[] = [];
  for (const [token, at] of uniques(left, from, to)) {
    const other = there.get(token) ?? -1;
    if (at >= 0 && other >= 0) both.push([at, other]);
  }
  // Piles of patience sorting: each pair remembers the top of the previous pile.
  const tops: number[] = [];
  const before: number[] = [];
  both.forEach(([, other], at) => {
    const pile = firstOf(0, tops.length, (one) => (both[tops[one] as number] as Pair)[1] >= other);
    before[at] = tops[pile - 1] ?? -1;
    tops[pile] = at;
  });
  const run: Pair[] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at] as number) {
    run.push(both[at] as Pair);
  }
  return run.reverse();
}

/** Pairs by the most certain tokens first, and between these by less certain ones. */
function* pairsByTiers(left: readonly LevelLine[], right: readonly LevelLine[]): Slices<Pair[]> {
  let pairs: Pair[] = [];
  const tiers = Math.max(left[0]?.tokens.length ?? 0, right[0]?.tokens.length ?? 0);
  for (let tier = 0; tier < tiers; tier++) {
    const [ours, theirs] = [left, right].map((lines) =>
      lines.map((line) => line.tokens[tier] ?? line.tokens.at(-1) ?? ""),
    ) as [string[], string[]];
    const found: Pair[] = [];
    let [from, start] = [0, 0];
    for (const [to, end] of [...pairs, [left.length, right.length] as Pair]) {
      if (to > from && end > start) {
        found.push(...(yield* between(ours, theirs, [from, to, start, end])));
      }
      if (to < left.length) found.push([to, end]);
      [from, start] = [to + 1, end + 1];
    }
    pairs = found;
  }
  return pairs;
}

export function* level(
  left: readonly LevelLine[],
  right: readonly LevelLine[],
): Slices<[Side, Side]> {
  const sides: [Side, Side] = [side("left"), side("right")];
  let [at, beside] = [0, 0];
  const pairs = yield* pairsByTiers(left, right);
  for (const [one, other] of [...pairs, [left.length, right.length] as Pair]) {
    yield;
    const [before, across] = [one - at, other - beside];
    for (let line = at; line < one; line++) sides[0].only.add(line + 1);
    for (let line = beside; line < other; line++) sides[1].only.add(line + 1);
    if (before < across) sides[0].spaces.set(one + 1, across - before);
    if (across < before) sides[1].spaces.set(other + 1, before - across);
    const [mine, theirs] = [left[one]?.text, right[other]?.text];
    if (mine !== undefined && theirs !== undefined) {
      sides[0].beside.set(one + 1, other + 1);
      sides[1].beside.set(other + 1, one + 1);
      if (!isSame(mine, theirs)) {
        const [ours, others] = differing(mine, theirs);
        sides[0].changed.set(one + 1, ours);
        sides[1].changed.set(other + 1, others);
      }
    }
    [at, beside] = [one + 1, other + 1];
  }
  tellMoved(left, right, sides);
  return sides;
}

/** Lines that occur once on both sides, but that the order of the others keeps apart. */
function tellMoved(
  left: readonly LevelLine[],
  right: readonly LevelLine[],
  [ours, theirs]: [Side, Side],
): void {
  const tell = (line: number, other: number): void => {
    ours.only.delete(line);
    theirs.only.delete(other);
    ours.moved.set(line, other);
    theirs.moved.set(other, line);
  };
  const there = alone(right, theirs.only);
  const moved: Pair[] = [];
  for (const [token, line] of alone(left, ours.only)) {
    const other = there.get(token);
    if (line !== null && other != null) moved.push([line, other]);
  }
  for (const [line, other] of moved) tell(line, other);
  // A neighbour of a moved line without a meaning of its own, such as a bracket, has moved with it.
  const alike = (line: number, other: number): boolean =>
    ours.only.has(line) &&
    theirs.only.has(other) &&
    left[line - 1]?.tokens[0] === right[other - 1]?.tokens[0];
  for (const step of [1, -1]) {
    for (const [line, other] of moved) {
      for (let by = step; alike(line + by, other + by); by += step) tell(line + by, other + by);
    }
  }
}

/** Most certain token → the only line that has it, or null if there are several; for lines with
 * content. */
function alone(lines: readonly LevelLine[], some: ReadonlySet<number>): Map<string, number | null> {
  const found = new Map<string, number | null>();
  for (const line of some) {
    const token = lines[line - 1]?.tokens[0] ?? "";
    if (/\w\W*\w\W*\w/.test(token)) found.set(token, found.has(token) ? null : line);
  }
  return found;
}

/** Finds where two lines differ, word by word. */
function differing(one: string, other: string): [Span[], Span[]] {
  const [ours, theirs] = [wordsOf(one), wordsOf(other)];
  const gap: Gap = [0, Math.min(ours.length, MOST_WORDS), 0, Math.min(theirs.length, MOST_WORDS)];
  const [mine, others] = [ours, theirs].map((words) => words.map((word) => word.text));
  const pairs = atOnce(between(mine ?? [], others ?? [], gap));
  const spans = (words: readonly Word[], kept: ReadonlySet<number>): Span[] => {
    const found: Span[] = [];
    words.forEach(({ from, text }, at) => {
      if (kept.has(at) || !text.trim()) return;
      const last = found.at(-1);
      if (last && last[1] === from) last[1] = from + text.length;
      else found.push([from, from + text.length]);
    });
    return found;
  };
  return [
    spans(ours, new Set(pairs.map(([at]) => at))),
    spans(theirs, new Set(pairs.map(([, at]) => at))),
  ];
}

interface Word {
  text: string;
  from: number;
}

function wordsOf(line: string): Word[] {
  return Array.from(line.matchAll(/\w+|\s+|[^\w\s]/g), (found) => ({
    text: found[0],
    from: found.index,
  }));
}

/** A line with types as debug folders write them: `f32[4, 8][8, 1]cuda:0` as `f32[4, 8]`. */
export function withoutStrides(text: string): string {
  return text.replace(/(\w\[[^\]]*\])\[[^\]]*\][\w:]*(?=")/g, "$1");
}

/** Whether two lines say the same; strides count if both have them. */
function isSame(mine: string, theirs: string): boolean {
  if (mine.trim() === theirs.trim()) return true;
  const [ours, others] = [withoutStrides(mine), withoutStrides(theirs)];
  return (ours === mine) !== (others === theirs) && ours.trim() === others.trim();
}

/** A line without the numbers in names: `mul_4 = aten.mul(add_3)` matches any such product. */
export function withoutNumbers(text: string): string {
  return text
    .trim()
    .replace(/\b((?:[a-z_]+_|buf|tmp|op|arg|primals_|ks|s|x|r))\d+(?:_\d+)?\b/g, "$1#")
    .replace(/\b([a-z]\w*?)(?:_\d+)+\b/g, "$1");
}

/** The operation of a line: `aten.mul.Tensor`, `tl.load`. */
export function operationOf(text: string): string {
  const called = /=\s*([A-Za-z_][\w.]*)\(/.exec(text)?.[1];
  return called ?? withoutNumbers(text);
}

function side(at: Side["at"]): Side {
  return {
    at,
    spaces: new Map(),
    only: new Set(),
    moved: new Map(),
    changed: new Map(),
    beside: new Map(),
  };
}

/** Says how many lines differ; empty if none do. */
export function differences(one: Side, other: Side): string {
  const counts: [number, string][] = [
    [one.only.size, "only on the left"],
    [other.only.size, "only on the right"],
    [one.changed.size, "changed"],
    [one.moved.size, "moved"],
  ];
  const some = counts.filter(([lines]) => lines);
  return some
    .map(([lines, how], at) => `${at ? thousands(lines) : count(lines, "line")} ${how}`)
    .join(", ");
}
