// Two texts level with each other: which lines stand side by side. What a merge view does for equal
// text is not enough here: lines that correlate (one node, one operation) belong side by side even
// when their text differs, so lines are aligned by tokens that the links give. Pure.

/** A line's text, and what it is: lines of equal tokens may stand side by side. */
export interface LevelLine {
  token: string;
  text: string;
}

export interface Side {
  /** Line, from 1 → empty rows that stand before it; the key after the last line ends the text. */
  spaces: Map<number, number>;
  /** Lines that only this side has. */
  only: Set<number>;
  /** Lines that stand beside one of another text. */
  changed: Set<number>;
}

/** Pairs (from 0) of lines with equal tokens, increasing on both sides: lines that are unique on both
 * sides anchor, and what lies between two anchors is aligned the same way. */
export function pairsOf(left: readonly string[], right: readonly string[]): [number, number][] {
  const pairs: [number, number][] = [];
  const open: [number, number, number, number][] = [[0, left.length, 0, right.length]];
  for (let next = open.pop(); next; next = open.pop()) {
    let [from, to, start, end] = next;
    while (from < to && start < end && left[from] === right[start]) pairs.push([from++, start++]);
    while (from < to && start < end && left[to - 1] === right[end - 1]) pairs.push([--to, --end]);
    const anchors = anchorsOf(left, right, from, to, start, end);
    if (!anchors.length) continue;
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

function uniques(tokens: readonly string[], from: number, to: number): Map<string, number> {
  const found = new Map<string, number>();
  for (let at = from; at < to; at++) {
    const token = tokens[at] as string;
    found.set(token, found.has(token) ? -1 : at);
  }
  return found;
}

/** The longest run of lines that are unique on both sides and come in the same order on both. */
function anchorsOf(
  left: readonly string[],
  right: readonly string[],
  from: number,
  to: number,
  start: number,
  end: number,
): [number, number][] {
  const there = uniques(right, start, end);
  const both: [number, number][] = [];
  for (const [token, at] of uniques(left, from, to)) {
    const other = there.get(token) ?? -1;
    if (at >= 0 && other >= 0) both.push([at, other]);
  }
  // Piles of patience: each pair remembers the top of the pile before it.
  const tops: number[] = [];
  const before: number[] = [];
  both.forEach(([, other], at) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((both[tops[middle] as number] as [number, number])[1] < other) low = middle + 1;
      else high = middle;
    }
    before[at] = low > 0 ? (tops[low - 1] as number) : -1;
    tops[low] = at;
  });
  const run: [number, number][] = [];
  for (let at = tops.at(-1) ?? -1; at >= 0; at = before[at] as number) {
    run.push(both[at] as [number, number]);
  }
  return run.reverse();
}

export function level(left: readonly LevelLine[], right: readonly LevelLine[]): [Side, Side] {
  const sides: [Side, Side] = [side(), side()];
  const pairs = pairsOf(
    left.map((line) => line.token),
    right.map((line) => line.token),
  );
  let [at, beside] = [0, 0];
  for (const [one, other] of [...pairs, [left.length, right.length] as [number, number]]) {
    const [before, across] = [one - at, other - beside];
    for (let line = at; line < one; line++) sides[0].only.add(line + 1);
    for (let line = beside; line < other; line++) sides[1].only.add(line + 1);
    if (before < across) sides[0].spaces.set(one + 1, across - before);
    if (across < before) sides[1].spaces.set(other + 1, before - across);
    const texts = [left[one]?.text.trim(), right[other]?.text.trim()];
    if (one < left.length && texts[0] !== texts[1]) {
      sides[0].changed.add(one + 1);
      sides[1].changed.add(other + 1);
    }
    [at, beside] = [one + 1, other + 1];
  }
  return sides;
}

function side(): Side {
  return { spaces: new Map(), only: new Set(), changed: new Set() };
}
