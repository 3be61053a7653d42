// A graph to draw: nodes, their inputs, and the groups that they were fused into. Pure.
import type { Kernel } from "../shapes";

export interface Node {
  name: string;
  /** The operation: `mul`, or the kind of a scheduler node. */
  op: string;
  /** Its type, or its buffers. */
  type: string;
  /** Lines of the stage that define it. */
  first: number;
  last: number;
  inputs: number[];
  users: number[];
  /** Groups that compute it; several if it is recomputed. */
  groups: number[];
  /** An input of the graph. */
  given: boolean;
}

export interface Group {
  title: string;
  /** Name of its kernel, and the number of the call; null if it is not a kernel. */
  kernel: string | null;
  handle: number | null;
  /** Whether its code is in a library. */
  library?: boolean;
  hue: string;
  time_us: number | null;
  nodes: number[];
}

export interface Graph {
  /** The stage whose lines the nodes are. */
  stage: string;
  nodes: readonly Node[];
  /** In the order in which they run. */
  groups: readonly Group[];
  byName: ReadonlyMap<string, number>;
  /** The kind of an edge between groups. */
  edges: string;
}

export function newNode(name: string, op: string, type: string, first: number, last = first): Node {
  return { name, op, type, first, last, inputs: [], users: [], groups: [], given: false };
}

/** Mean time of a call, if it is known. */
export function timeOfCall({ time_us, calls }: Kernel): number | null {
  return time_us === null ? null : time_us / Math.max(1, calls.length);
}

/** Fill in what follows from inputs and groups. */
export function complete(stage: string, edges: string, nodes: Node[], groups: Group[]): Graph {
  nodes.forEach((node, at) => {
    for (const input of node.inputs) nodes[input]?.users.push(at);
  });
  groups.forEach((group, at) => {
    for (const node of group.nodes) nodes[node]?.groups.push(at);
  });
  return { stage, edges, nodes, groups, byName: new Map(nodes.map((node, at) => [node.name, at])) };
}

/** The group that supplies a node's value to a group that runs later: the latest one before it. */
export function giverFor(graph: Graph, node: number, before: number): number | null {
  const computing = graph.nodes[node]?.groups ?? [];
  return computing.filter((group) => group < before).at(-1) ?? null;
}

export interface Around {
  nodes: number[];
  /** Number of nodes at the same distance that were left out. */
  more: number;
}

/** The nodes within a number of steps of given nodes, the nearest first, up to a maximum. */
export function around(graph: Graph, from: readonly number[], hops: number, most: number): Around {
  const found = new Map(from.slice(0, most).map((at) => [at, 0]));
  let more = Math.max(0, from.length - most);
  for (const [at, steps] of found) {
    if (steps === hops) break;
    const { inputs = [], users = [] } = graph.nodes[at] ?? {};
    for (const near of [...inputs, ...users]) {
      if (found.has(near)) continue;
      if (found.size < most) found.set(near, steps + 1);
      else more += 1;
    }
  }
  return { nodes: [...found.keys()].sort((one, other) => one - other), more };
}

/** The nodes of a shortest path from one node to another, if necessary against its direction; null
 * if neither depends on the other. */
export function pathBetween(graph: Graph, one: number, other: number): number[] | null {
  const along = (from: number, to: number): number[] | null => {
    const before = new Map<number, number>([[from, from]]);
    for (const at of before.keys()) {
      if (before.has(to)) break;
      for (const user of graph.nodes[at]?.users ?? []) {
        if (!before.has(user)) before.set(user, at);
      }
    }
    if (!before.has(to)) return null;
    const path = [to];
    for (let at = to; at !== from; at = before.get(at) ?? from) path.push(before.get(at) ?? from);
    return path.reverse();
  };
  return along(one, other) ?? along(other, one);
}
