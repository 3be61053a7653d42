// Draws the times of a kernel's configurations as bars.

import type { Attempt } from "../shared/api";
import { bar, make } from "../shared/elements";
import { microseconds, share } from "../shared/figures";

export interface Tried {
  label: string;
  attempt: Attempt;
}

interface Row {
  name: Node;
  ms: number | null;
  said: string;
  hue: string;
}

/** Put a table in the box: the original, then the configurations, the fastest first. */
export function drawTimes(box: HTMLElement, tried: readonly Tried[]): void {
  const originals = tried.flatMap(({ attempt }) => attempt.verdict.judged?.a_ms ?? []);
  const middle = originals.sort((a, b) => a - b)[originals.length >> 1] ?? null;
  const original = { name: make("span", {}, "as it is"), ms: middle, said: "", hue: "other" };
  const rows = tried.map(rowOf).sort((a, b) => (a.ms ?? Infinity) - (b.ms ?? Infinity));
  const longest = Math.max(0, ...[original, ...rows].map((row) => row.ms ?? 0));
  box.hidden = false;
  box.replaceChildren(
    make("h2", {}, "Configurations"),
    make("table", {}, ...[original, ...rows].map((row) => drawRow(row, longest))),
  );
}

function rowOf({ label, attempt }: Tried): Row {
  const { accepted, judged, error } = attempt.verdict;
  const name = make("a", { href: `?attempt=${attempt.id}` }, label);
  if (!accepted || !judged) {
    return { name, ms: null, said: error ? "does not run" : "rejected", hue: "other" };
  }
  const change = [judged.shift, judged.low, judged.high].map(signed);
  const said = `${judged.answer}, ${change[0]} (${change[1]} to ${change[2]})`;
  return { name, ms: judged.b_ms, said, hue: judged.answer === "faster" ? "accent" : "other" };
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${share(Math.abs(value))}`;
}

function drawRow({ name, ms, said, hue }: Row, longest: number): HTMLElement {
  const time = ms === null ? "—" : microseconds(1000 * ms);
  return make(
    "tr",
    {},
    make("td", {}, name),
    make("td", { class: "num" }, time),
    make("td", { class: "grow" }, ms === null ? null : bar(ms / longest, hue)),
    make("td", { class: "soft" }, said),
  );
}
