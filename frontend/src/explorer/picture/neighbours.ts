// Finds the calls that use a kernel call's results, those that supply its inputs, and those in
// between. Pure.
import { type Graph, giverFor } from "./graph";

export interface Neighbour {
  /** Position of its group in the graph. */
  group: number;
  /** A node of the supplying call that the other one uses. */
  given: number;
  values: number;
  /** Groups that run between the two. */
  between: number[];
}

function between(first: number, last: number): number[] {
  return Array.from({ length: Math.max(0, last - first - 1) }, (_, at) => first + 1 + at);
}

function gathered(found: readonly Omit<Neighbour, "values">[]): Neighbour[] {
  const byGroup = Map.groupBy(found, ({ group }) => group);
  return [...byGroup.values()].flatMap(([first, ...others]) =>
    first ? { ...first, values: 1 + others.length } : [],
  );
}

/** Nodes that a step leads to, following those that no call computes, such as views. */
function through(graph: Graph, from: number, step: "users" | "inputs"): number[] {
  const seen = new Set([from]);
  const isComputed = (at: number) => at !== from && Boolean(graph.nodes[at]?.groups.length);
  for (const at of seen) {
    if (isComputed(at)) continue;
    for (const next of graph.nodes[at]?.[step] ?? []) seen.add(next);
  }
  return [...seen].filter(isComputed);
}

/** Calls that use a call's results, the next first. */
export function takersOf(graph: Graph, group: number): Neighbour[] {
  const found = (graph.groups[group]?.nodes ?? []).flatMap((given) =>
    through(graph, given, "users").flatMap((taken) =>
      (graph.nodes[taken]?.groups ?? [])
        .filter((taker) => taker > group && giverFor(graph, given, taker) === group)
        .map((taker) => ({ group: taker, given, between: between(group, taker) })),
    ),
  );
  return gathered(found.sort((one, other) => one.group - other.group));
}

/** Calls that compute a call's inputs, the latest first. */
export function giversOf(graph: Graph, group: number): Neighbour[] {
  const found = (graph.groups[group]?.nodes ?? []).flatMap((taken) =>
    through(graph, taken, "inputs").flatMap((given) => {
      const giver = giverFor(graph, given, group);
      const isInside = graph.nodes[given]?.groups.includes(group);
      if (giver === null || isInside) return [];
      return [{ group: giver, given, between: between(giver, group) }];
    }),
  );
  return gathered(found.sort((one, other) => other.group - one.group));
}

/** Why two calls are not fused, judged by their kinds. */
export function whyApart(graph: Graph, one: number, other: number): string | null {
  const library = [one, other].filter((at) => graph.groups[at]?.library);
  const names = [...new Set(library.map((at) => graph.groups[at]?.title ?? ""))];
  if (!names.length) return null;
  const are = names.length > 1 ? "are calls of libraries" : "is a call of a library";
  return `${names.join(" and ")} ${are}: Inductor fuses only what it generates code for.`;
}
