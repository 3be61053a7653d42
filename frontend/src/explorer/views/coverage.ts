// Says how much of a graph the links explain.
import { make } from "../../shared/elements";
import { share } from "../../shared/figures";
import type { Coverage, GraphPicture } from "../shapes";

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

/** Says how much is explained, and what is not. */
export function describeCoverage(into: HTMLElement, picture: GraphPicture): void {
  const lines = percents(picture.coverage, "lines");
  const nodes = percents(picture.coverage, "nodes");
  const summary = into.querySelector("summary");
  const explained = lines ? `Lines explained ${lines[0]}` : "Lines explained: none to explain";
  if (summary) summary.textContent = picture.aligning ? "Lines still being aligned" : explained;
  const facts = make("dl", { class: "facts" });
  if (lines) facts.append(make("dt", {}, "Kernel lines"), make("dd", {}, lines[1]));
  if (nodes) facts.append(make("dt", {}, "FX nodes"), make("dd", {}, nodes[1]));
  into.append(facts);
  if (picture.aligning) {
    const words =
      "Calls are linked. Lines of kernels and Dynamo's graphs follow: until then, a kernel line " +
      "lights up with all nodes of its call. The page reloads when they are aligned.";
    into.append(make("p", {}, words));
  }
  if (picture.notes.length) {
    into.append(make("ul", {}, ...picture.notes.map((note) => make("li", {}, note))));
  }
}
