// Lays out a neighbourhood: readable boxes, with the nodes of a group in a box around them. Pure.
import { Graph as Layers, layout } from "@dagrejs/dagre";
import type { Size } from "../../shared/sheet";
import type { Graph } from "./graph";
import type { Box, GroupBox, Line, NodeBox, Scene } from "./scene";

const SPACING = { nodesep: 14, edgesep: 10, ranksep: 26 };
const CHARACTER = 6.8;
const HEIGHT = 34;
/** Space between a group's border and its nodes; its title is above them. */
const SIDE = 8;
const TITLE = 22;

type Edge = readonly [from: number, to: number];

/** Boxes in rows, each below its inputs: their upper left corners, and the points that each edge's
 * line passes between its ends. */
function layered(boxes: ReadonlyMap<number, Size>, edges: readonly Edge[]) {
  const layers = new Layers();
  layers.setGraph(SPACING);
  for (const [key, size] of boxes) layers.setNode(String(key), { ...size });
  for (const [from, to] of edges) layers.setEdge(String(from), String(to), {});
  layout(layers);
  const places = new Map(
    [...boxes].map(([key, { width, height }]) => {
      const { x, y } = layers.node(String(key));
      return [key, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
  const bends = edges.map(([from, to]) => {
    const points: { x: number; y: number }[] = layers.edge(String(from), String(to)).points;
    return points.slice(1, -1).flatMap(({ x, y }) => [x, y]);
  });
  const { width = 0, height = 0 } = layers.graph();
  return { places, bends, width, height };
}

interface Block {
  group: number | null;
  nodes: number[];
}

/** Nodes that belong together: those of a group, or a single one. A node of several groups goes to
 * the one with most of the nodes. */
function blocksOf(graph: Graph, nodes: readonly number[]): Block[] {
  const groupsOf = (at: number) => graph.nodes[at]?.groups ?? [];
  const shares = new Map<number, number>();
  for (const group of nodes.flatMap(groupsOf)) shares.set(group, (shares.get(group) ?? 0) + 1);
  const share = (group: number) => shares.get(group) ?? 0;
  const blocks = Map.groupBy(nodes, (at) => {
    const [group] = [...groupsOf(at)].sort((one, other) => share(other) - share(one));
    return group ?? `node ${at}`;
  });
  return [...blocks].map(([key, own]) => ({
    group: typeof key === "number" ? key : null,
    nodes: own,
  }));
}

function sizeOf(graph: Graph, at: number): Size {
  const { name = "", op = "", type = "" } = graph.nodes[at] ?? {};
  const length = Math.min(30, Math.max(name.length, op.length + type.length + 1));
  return { width: Math.max(64, length * CHARACTER + 16), height: HEIGHT };
}

/** Lays out the nodes of each block, then the blocks. */
export function neighbourhood(graph: Graph, shown: readonly number[]): Scene {
  const blocks = blocksOf(graph, shown);
  const home = new Map(blocks.flatMap(({ nodes }, at) => nodes.map((node) => [node, at])));
  const homesOf = ([from, to]: Edge): Edge => [home.get(from) ?? 0, home.get(to) ?? 0];
  const edges = shown.flatMap((to) =>
    [...new Set(graph.nodes[to]?.inputs)]
      .filter((from) => home.has(from))
      .map((from): Edge => [from, to]),
  );
  const within = blocks.map((block, at) => {
    const own = edges.filter((edge) => homesOf(edge).every((each) => each === at));
    const inside = layered(new Map(block.nodes.map((node) => [node, sizeOf(graph, node)])), own);
    const [side, title] = block.group === null ? [0, 0] : [SIDE, TITLE];
    const size = { width: inside.width + 2 * side, height: inside.height + title + side };
    return { ...block, own, inside, side, title, size };
  });
  const across = edges.filter((edge) => new Set(homesOf(edge)).size > 1);
  const outer = layered(new Map(within.map(({ size }, at) => [at, size])), across.map(homesOf));
  const ways = new Map(across.map((edge, at) => [edge, outer.bends[at]]));
  const groups: GroupBox[] = [];
  const boxes = new Map<number, NodeBox>();
  within.forEach(({ group, own, inside, side, title, size }, at) => {
    const { x = 0, y = 0 } = outer.places.get(at) ?? {};
    if (group !== null) groups.push({ x, y, ...size, group });
    const [left, top] = [x + side, y + title];
    for (const [node, place] of inside.places) {
      const box = { x: left + place.x, y: top + place.y, ...sizeOf(graph, node) };
      boxes.set(node, { ...box, node, group, computed: group !== null });
    }
    own.forEach((edge, number) => {
      const bends = inside.bends[number] ?? [];
      ways.set(
        edge,
        bends.map((value, part) => value + (part % 2 ? top : left)),
      );
    });
  });
  const lines = [...ways].map(([[from, to], bends = []]): Line => {
    const [giver, taker] = [boxes.get(from) as Box, boxes.get(to) as Box];
    const foot = [giver.x + giver.width / 2, giver.y + giver.height];
    const head = [taker.x + taker.width / 2, taker.y];
    return { from, to, points: [...foot, ...bends, ...head], far: false };
  });
  const nodes = [...boxes.values()].sort((one, other) => one.y - other.y || one.x - other.x);
  const { width, height } = outer;
  return { x: 0, y: 0, width, height, groups, nodes, lines, joins: "nodes" };
}
