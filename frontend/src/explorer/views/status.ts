// The status line: what is selected, how that is known, what it costs.

import { make } from "../../shared/elements";
import { count, microseconds, share } from "../../shared/figures";
import { certainty } from "../../shared/naming";
import type { Coverage, GraphPicture } from "../shapes";
import { isPart, type Spent } from "../state/follow";

export interface Told {
  names: string[];
  from: string | null;
  /** Lit lines over all panes but the origin's own line. */
  lines: number;
  /** Kernels that compute it. */
  kernels: number;
  /** What of their time is the selection's. */
  spent: Spent[];
  /** The least sure and the surest way that the lit lines are known: 1 kernel … 3 exact. */
  leastKnown: number;
  bestKnown: number;
  match: { at: number; of: number } | null;
  preview: boolean;
  trouble: string | null;
}

function chipOf(told: Told): Node[] {
  if (!told.lines) return [];
  const [least, best] = [certainty(told.leastKnown), certainty(told.bestKnown)];
  if (!least || !best) return [];
  const label = least === best ? best.title : `${best.title}, partly ${least.title}`;
  const title = `${least.meaning}. Click, or e: how is this known?`;
  return [make("button", { type: "button", class: `chip how ${least.tone}`, title }, label)];
}

function timeOf(spent: readonly Spent[], graphTime: number | null): Node[] {
  if (!spent.length) return [];
  const total = spent.reduce((sum, { us }) => sum + us, 0);
  const inPart = spent.filter(isPart);
  const parts: (Node | string)[] = [
    make("b", {}, `${inPart.length ? "≈ " : ""}${microseconds(total)}`),
    " a step",
  ];
  if (graphTime) parts.push(` · ${share(total / graphTime)} of this graph`);
  const [one] = inPart;
  if (one && spent.length === 1) parts.push(` · ${one.calls} of ${one.kernel.calls.length} calls`);
  const title = [
    "Time of the kernels that compute the selection, with all else that they compute.",
    ...inPart.map(
      ({ kernel, calls }) =>
        `${calls} of ${kernel.calls.length} calls of ${kernel.name}, which takes ` +
        `${microseconds(kernel.time_us ?? 0)}: counted as if its calls were alike.`,
    ),
  ];
  const span = make("span", { title: title.slice(0, 12).join("\n") });
  span.append(...parts);
  return [span];
}

export function tell(into: HTMLElement, told: Told | null, graphTime: number | null): void {
  if (!told) {
    const words = "Point at a line to see what it became. Click or Enter keeps it.";
    into.replaceChildren(make("span", {}, words));
    return;
  }
  if (told.trouble) {
    into.replaceChildren(make("span", {}, told.trouble));
    return;
  }
  const parts: Node[] = [];
  const named = told.names.slice(0, 3).join(", ");
  const more = told.names.length > 3 ? ` and ${told.names.length - 3} more` : "";
  if (named) {
    const title = told.names.slice(0, 60).join("\n");
    parts.push(make("b", { class: "entities", title }, named + more));
  }
  if (told.from) parts.push(make("span", {}, told.from));
  const lines = count(told.lines, "line");
  const kernels = told.kernels;
  const where = kernels ? `${count(kernels, "kernel")}, ${lines}` : lines;
  const linked = told.lines ? where : kernels ? count(kernels, "kernel") : "";
  parts.push(make("span", {}, linked || "nothing is linked to this line"));
  parts.push(...chipOf(told), ...timeOf(told.spent, graphTime));
  if (told.match) parts.push(make("span", {}, `match ${told.match.at} of ${told.match.of}`));
  if (told.preview) parts.push(make("span", { class: "soft" }, "preview"));
  into.replaceChildren(...parts);
}

function percents(covered: Partial<Coverage>, what: "lines" | "nodes"): [string, string] | null {
  const all = covered[what] ?? 0;
  if (!all) return null;
  const exact = covered[`${what}_exact`] ?? 0;
  const inferred = covered[`${what}_inferred`] ?? 0;
  const kernel = covered[`${what}_kernel`] ?? 0;
  const unmapped = all - exact - inferred - kernel;
  const parts = [
    exact ? `exact ${share(exact / all)}` : "",
    inferred ? `inferred ${share(inferred / all)}` : "",
    kernel ? `kernel only ${share(kernel / all)}` : "",
    `unmapped ${unmapped}`,
  ];
  return [share((exact + inferred) / all), parts.filter(Boolean).join(" · ")];
}

/** How much is explained, and what is not, in words. */
export function describeCoverage(into: HTMLElement, picture: GraphPicture): void {
  const lines = percents(picture.coverage, "lines");
  const nodes = percents(picture.coverage, "nodes");
  const summary = into.querySelector("summary");
  if (summary && picture.aligning) {
    summary.textContent = "Lines still being aligned";
  } else if (summary) {
    summary.textContent = lines
      ? `Lines explained ${lines[0]}`
      : "Lines explained: none to explain";
  }
  const facts = make("dl", { class: "facts" });
  if (lines) facts.append(make("dt", {}, "Kernel lines"), make("dd", {}, lines[1]));
  if (nodes) facts.append(make("dt", {}, "FX nodes"), make("dd", {}, nodes[1]));
  into.append(facts);
  if (picture.aligning) {
    const words =
      "Calls are linked. The lines of their kernels follow, which until then light with all nodes " +
      "of the call, and Dynamo's graphs. The page loads anew when they are aligned.";
    into.append(make("p", {}, words));
  }
  if (picture.notes.length) {
    into.append(make("ul", {}, ...picture.notes.map((note) => make("li", {}, note))));
  }
}
