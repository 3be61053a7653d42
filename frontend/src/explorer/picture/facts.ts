// Describes the picture in words: the current node, its inputs and its users. With these buttons,
// the graph can be explored without seeing it.

import { button, cutName, make } from "../../shared/elements";
import { count, microseconds, thousands } from "../../shared/figures";
import { POST_GRAD } from "../../shared/vocabulary";
import type { Graph } from "./graph";

/** Most neighbours to list. */
const LISTED = 40;

/** The whole graph. */
export function wholeOf(graph: Graph): string {
  const given = graph.nodes.filter((node) => node.given).length;
  const alone = graph.nodes.filter((node) => !node.groups.length && !node.given).length;
  const again = graph.nodes.filter((node) => node.groups.length > 1).length;
  if (graph.stage !== POST_GRAD) {
    const fused = graph.groups.filter((group) => group.nodes.length > 1).length;
    const loops = count(graph.nodes.length, "scheduler node");
    const groups = fused
      ? ` in ${count(graph.groups.length, "group")}, ${fused} of them fused`
      : ", none fused yet";
    return `${loops}${groups}, joined by buffers.`;
  }
  const parts = [
    `${count(graph.nodes.length - given, "node")} in ${count(graph.groups.length, "kernel call")}`,
    `${count(given, "input")} (small squares)`,
  ];
  if (alone) parts.push(`${thousands(alone)} that no kernel computes (hollow)`);
  if (again) parts.push(`${count(again, "node")} in more than one call`);
  return `${parts.join(", ")}.`;
}

function listOf(
  graph: Graph,
  title: string,
  nodes: readonly number[],
  choose: (node: number) => void,
): HTMLElement {
  const list = make("ul", { class: "bare" });
  for (const at of nodes.slice(0, LISTED)) {
    const node = graph.nodes[at];
    if (!node) continue;
    const label = [make("span", { class: "chain-label" }, node.name), ` ${node.op}`];
    const attributes = { class: "chain-link", title: node.type };
    list.append(
      make(
        "li",
        {},
        button(label, attributes, () => choose(at)),
      ),
    );
  }
  if (nodes.length > LISTED) {
    list.append(make("li", { class: "soft" }, `and ${nodes.length - LISTED} more`));
  }
  const heading = make("h2", {}, title);
  if (nodes.length > 1) heading.append(make("span", { class: "soft num" }, String(nodes.length)));
  return make("section", { "aria-label": title }, heading, list);
}

/** One node; `choose` moves to a neighbour. */
export function factsOf(graph: Graph, at: number, choose: (node: number) => void): HTMLElement[] {
  const node = graph.nodes[at];
  if (!node) return [];
  const words = [node.op, node.type, `line ${node.first}`].filter(Boolean).join(" · ");
  const kernels = make("p", { class: "soft picture-in" });
  if (node.given) kernels.append("An input of the graph.");
  else if (!node.groups.length) kernels.append("No kernel computes it.");
  for (const place of node.groups.slice(0, 4)) {
    const group = graph.groups[place];
    if (!group) continue;
    const time = group.time_us === null ? "" : ` ${microseconds(group.time_us)}`;
    kernels.append(cutName(group.kernel ?? group.title), make("span", { class: "num" }, time));
  }
  if (node.groups.length > 4) kernels.append(`and ${node.groups.length - 4} more`);
  const again = `In ${node.groups.length} kernel calls: computed again in each, or only listed there.`;
  const own = make(
    "section",
    { class: "picture-node", tabindex: "0", "aria-label": node.name },
    make("h2", {}, node.name),
    make("p", { class: "soft" }, words),
    node.groups.length > 1 ? make("p", {}, again) : null,
    kernels,
  );
  return [
    listOf(graph, "Takes", node.inputs, choose),
    own,
    listOf(graph, "Goes to", node.users, choose),
  ];
}
