// A graph to be drawn: nodes, what they take, and the groups they were fused into. Pure.

export interface Node {
  name: string;
  /** What it computes: `mul`, or the kind of a scheduler node. */
  op: string;
  /** Its type, or its buffers. */
  type: string;
  /** Lines of the stage that are it. */
  first: number;
  last: number;
  inputs: number[];
  users: number[];
  /** Groups that compute it: several when it is computed again. */
  groups: number[];
  /** An input of the graph. */
  given: boolean;
}

export interface Group {
  title: string;
  /** Name of its kernel, and the number of the call; null for what is no kernel. */
  kernel: string | null;
  handle: number | null;
  /** Whether a library has its code. */
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
  /** What an edge between groups is. */
  edges: string;
}

export function newNode(name: string, op: string, type: string, first: number, last = first): Node {
  return { name, op, type, first, last, inputs: [], users: [], groups: [], given: false };
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

/** The group that gives a node's value to one that runs at a time: the latest before it. */
export function giverFor(graph: Graph, node: number, before: number): number | null {
  const computing = graph.nodes[node]?.groups ?? [];
  return computing.filter((group) => group < before).at(-1) ?? null;
}

export interface Around {
  nodes: number[];
  /** Nodes that are as near and were left out. */
  more: number;
}

/** The nodes at most so many steps away from some, the nearest first, at most so many. */
export function around(graph: Graph, from: readonly number[], hops: number, most: number): Around {
  const found = new Set(from.slice(0, most));
  let more = Math.max(0, from.length - most);
  let edge = [...found];
  for (let hop = 0; hop < hops; hop++) {
    const next: number[] = [];
    for (const at of edge) {
      const node = graph.nodes[at];
      if (!node) continue;
      for (const near of [...node.inputs, ...node.users]) {
        if (found.has(near)) continue;
        if (found.size < most) {
          found.add(near);
          next.push(near);
        } else more += 1;
      }
    }
    edge = next;
  }
  return { nodes: [...found].sort((one, other) => one - other), more };
}

/** The nodes of a shortest way from one node to another, against its direction where there is none along
 * it; null when neither comes from the other. */
export function pathBetween(graph: Graph, one: number, other: number): number[] | null {
  const along = (from: number, to: number): number[] | null => {
    const before = new Map<number, number>([[from, from]]);
    for (let edge = [from]; edge.length && !before.has(to); ) {
      const next: number[] = [];
      for (const at of edge) {
        for (const user of graph.nodes[at]?.users ?? []) {
          if (before.has(user)) continue;
          before.set(user, at);
          next.push(user);
        }
      }
      edge = next;
    }
    if (!before.has(to)) return null;
    const path = [to];
    for (let at = to; at !== from; at = before.get(at) ?? from) path.push(before.get(at) ?? from);
    return path.reverse();
  };
  return along(one, other) ?? along(other, one);
}
