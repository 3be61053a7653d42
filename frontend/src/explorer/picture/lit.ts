// Which nodes of a picture a selection refers to, and what choosing one of them selects. Pure.
import { POST_GRAD } from "../../shared/vocabulary";
import type { Target } from "../state/address";
import type { LinkIndex, Selected } from "../state/links";
import type { Graph } from "./graph";

/** Nodes by their entities; if the selection names none, by the lines that it highlights. */
export function litNodes(graph: Graph, index: LinkIndex, selected: Selected | null): Set<number> {
  const lit = new Set<number>();
  if (!selected) return lit;
  if (graph.stage === POST_GRAD) {
    for (const entity of selected.entities.keys()) {
      const name = index.entities[entity] ?? "";
      const at = name.startsWith("fx:") ? graph.byName.get(name.slice(3)) : undefined;
      if (at !== undefined) lit.add(at);
    }
    if (lit.size) return lit;
  }
  const { lines } = index.matches(selected, graph.stage);
  if (!lines.length) return lit;
  let next = 0;
  graph.nodes.forEach((node, at) => {
    if (node.given) return; // all inputs are on one line
    while (next < lines.length && (lines[next] as number) < node.first) next++;
    if (next < lines.length && (lines[next] as number) <= node.last) lit.add(at);
  });
  return lit;
}

export function targetOf(graph: Graph, at: number): Target | null {
  const node = graph.nodes[at];
  if (!node) return null;
  if (graph.stage === POST_GRAD) return { entity: `fx:${node.name}` };
  return { stage: graph.stage, line: node.first, last: node.last };
}

export function targetOfGroup(graph: Graph, at: number): Target | null {
  const group = graph.groups[at];
  if (!group) return null;
  if (group.kernel !== null && group.handle !== null) {
    return { entity: `call:${group.kernel}:${group.handle}` };
  }
  const lines = group.nodes.flatMap((node) => graph.nodes[node] ?? []);
  if (!lines.length) return null;
  const first = Math.min(...lines.map((node) => node.first));
  return { stage: graph.stage, line: first, last: Math.max(...lines.map((node) => node.last)) };
}
