// Neighbourhoods, laid out by ELK in a worker: readable boxes, groups around their nodes.
import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api";
import type { Around, Graph } from "./graph";
import type { GroupBox, Line, NodeBox, Scene } from "./scene";

/** A layout that takes longer is given up: the overview still shows all. */
const PATIENCE_MS = 8000;
const CHARACTER = 6.8;
const HEIGHT = 34;

const OPTIONS = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "POLYLINE",
  "elk.layered.spacing.nodeNodeBetweenLayers": "26",
  "elk.spacing.nodeNode": "14",
  "elk.spacing.edgeNode": "10",
  "elk.layered.thoroughness": "4",
};
const OF_GROUP = { "elk.padding": "[top=22,left=8,bottom=8,right=8]" };

/** The group that a node is shown in: one that others of the neighbourhood share, else its first. */
function groupFor(graph: Graph, at: number, counts: ReadonlyMap<number, number>): number | null {
  const { groups = [] } = graph.nodes[at] ?? {};
  let best: number | null = groups[0] ?? null;
  for (const group of groups) {
    if ((counts.get(group) ?? 0) > (counts.get(best ?? -1) ?? 0)) best = group;
  }
  return best;
}

interface Answer {
  id: number;
  data?: ElkNode;
  error?: { message?: string };
}

export class Layout {
  private readonly workerUrl: string;
  private worker: Worker | null = null;
  private turn = 0;

  constructor(workerUrl: string) {
    this.workerUrl = workerUrl;
  }

  private started(): Worker {
    if (!this.worker) {
      this.worker = new Worker(this.workerUrl);
      this.worker.postMessage({ id: 0, cmd: "register", algorithms: ["layered"] });
    }
    return this.worker;
  }

  private ask(graph: ElkNode, id: number): Promise<ElkNode> {
    const worker = this.started();
    return new Promise((settle, refuse) => {
      const heard = ({ data: answer }: MessageEvent<Answer>) => {
        if (answer.id !== id) return;
        worker.removeEventListener("message", heard);
        if (answer.data) settle(answer.data);
        else refuse(new Error(answer.error?.message ?? "These nodes could not be laid out."));
      };
      worker.addEventListener("message", heard);
      worker.addEventListener("error", () => refuse(new Error("The layout could not be started.")));
      worker.postMessage({ id, cmd: "layout", graph, layoutOptions: {}, options: {} });
    });
  }

  /** Lets go of the worker, and of a layout under way. */
  close(): void {
    this.turn++;
    this.worker?.terminate();
    this.worker = null;
  }

  /** Null when a later layout was asked for meanwhile. Throws when it takes too long. */
  async of(graph: Graph, { nodes }: Around): Promise<Scene | null> {
    const turn = ++this.turn;
    const counts = new Map<number, number>();
    for (const at of nodes) {
      for (const group of graph.nodes[at]?.groups ?? []) {
        counts.set(group, (counts.get(group) ?? 0) + 1);
      }
    }
    const placed = new Map(nodes.map((at) => [at, groupFor(graph, at, counts)]));
    const asked = elkGraph(graph, placed);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, refuse) => {
      timer = setTimeout(() => {
        if (turn === this.turn) this.close();
        refuse(new Error(`The layout took longer than ${PATIENCE_MS / 1000} s and was given up.`));
      }, PATIENCE_MS);
    });
    try {
      const found = await Promise.race([this.ask(asked, turn), late]);
      return turn === this.turn ? sceneOf(found, placed) : null;
    } finally {
      clearTimeout(timer);
    }
  }
}

function elkGraph(graph: Graph, placed: ReadonlyMap<number, number | null>): ElkNode {
  const children: ElkNode[] = [];
  const groups = new Map<number, ElkNode>();
  const edges: ElkExtendedEdge[] = [];
  for (const [at, group] of placed) {
    const node = graph.nodes[at];
    if (!node) continue;
    const length = Math.min(30, Math.max(node.name.length, node.op.length + node.type.length + 1));
    const box = { id: `n${at}`, width: Math.max(64, length * CHARACTER + 16), height: HEIGHT };
    if (group === null) children.push(box);
    else {
      let around = groups.get(group);
      if (!around) {
        around = { id: `g${group}`, children: [], layoutOptions: OF_GROUP };
        groups.set(group, around);
        children.push(around);
      }
      around.children?.push(box);
    }
    for (const input of node.inputs) {
      if (!placed.has(input)) continue;
      edges.push({ id: `e${input}-${at}`, sources: [`n${input}`], targets: [`n${at}`] });
    }
  }
  return { id: "root", children, edges, layoutOptions: OPTIONS };
}

function sceneOf(root: ElkNode, placed: ReadonlyMap<number, number | null>): Scene {
  const groups: GroupBox[] = [];
  const nodes: NodeBox[] = [];
  const places = new Map<string, { x: number; y: number }>([["root", { x: 0, y: 0 }]]);
  const take = (element: ElkNode, left: number, top: number) => {
    const [x, y] = [left + (element.x ?? 0), top + (element.y ?? 0)];
    places.set(element.id, { x, y });
    const box = { x, y, width: element.width ?? 0, height: element.height ?? 0 };
    const number = Number(element.id.slice(1));
    if (element.id.startsWith("g")) {
      groups.push({ ...box, group: number });
      for (const child of element.children ?? []) take(child, x, y);
    } else {
      const group = placed.get(number) ?? null;
      nodes.push({ ...box, node: number, group, computed: group !== null });
    }
  };
  for (const child of root.children ?? []) take(child, 0, 0);
  const lines: Line[] = [];
  for (const edge of (root.edges ?? []) as (ElkExtendedEdge & { container?: string })[]) {
    const from = places.get(edge.container ?? "root") ?? { x: 0, y: 0 };
    const [source, target] = [Number(edge.sources[0]?.slice(1)), Number(edge.targets[0]?.slice(1))];
    for (const section of edge.sections ?? []) {
      const stops = [section.startPoint, ...(section.bendPoints ?? []), section.endPoint];
      const points = stops.flatMap((stop) => [from.x + stop.x, from.y + stop.y]);
      lines.push({ from: source, to: target, points, far: false });
    }
  }
  const size = { width: root.width ?? 0, height: root.height ?? 0 };
  return { x: 0, y: 0, ...size, groups, nodes, lines, joins: "nodes" };
}
