// Operations that only one side has: "only on the left: permute ×3, clone". Pure.
import type { Side } from "../code/level";

/** Sample: `    add_1: "f32[4]" = torch.ops.aten.add.Tensor(…)`, `q = linear.view(4, 256)` */
const COMPUTES = /^\s*\w+(?:: "[^"]*")? = (?:torch\.)?(?:ops\.\w+\.|[\w.]*?\.)?(\w+)(?:\.\w+)?\(/;
const NAMED = 6;

/** Operations of the lines that only one side has, the most frequent first. */
export function operationsOf(texts: readonly string[], lines: Iterable<number>): string {
  const counts = new Map<string, number>();
  for (const line of lines) {
    const operation = COMPUTES.exec(texts[line - 1] ?? "")?.[1];
    if (operation) counts.set(operation, (counts.get(operation) ?? 0) + 1);
  }
  const all = [...counts].sort((one, other) => other[1] - one[1]);
  const named = all
    .slice(0, NAMED)
    .map(([operation, times]) => (times > 1 ? `${operation} ×${times}` : operation));
  if (all.length > NAMED) named.push(`${all.length - NAMED} other kinds`);
  return named.join(", ");
}

/** First lines (from 1) of the stretches that differ, in rows of the left side, which has `lines`
 * lines; the right one has `others`. */
export function differencesOf(left: Side, right: Side, lines: number, others: number): number[] {
  const marked = new Set([...left.only, ...left.moved.keys(), ...left.changed.keys()]);
  // Lines that only the right has come before the left's line that leaves space for them.
  for (const line of left.spaces.keys()) {
    const below = left.beside.get(line) ?? others + 1;
    let above = below - 1;
    while (above > 0 && !right.beside.has(above)) above--;
    const differs = (each: number) => right.only.has(each) || right.moved.has(each);
    const inRoom = Array.from({ length: below - above - 1 }, (_, at) => above + 1 + at);
    if (inRoom.some(differs)) marked.add(Math.min(line, lines));
  }
  if (!lines && right.only.size) return [1];
  const firsts: number[] = [];
  for (const line of [...marked].sort((one, other) => one - other)) {
    if (!marked.has(line - 1) || left.spaces.has(line)) firsts.push(line);
  }
  return firsts;
}
