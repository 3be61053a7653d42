// The scheduler's nodes from the text of the IR, before or after fusion: what each writes and
// depends on. Pure.
import { hueOf } from "../../shared/naming";
import { kernelTitle } from "../kernel-names";
import type { Kernel } from "../shapes";
import { kernelAt } from "../state/follow";
import type { LinkIndex } from "../state/links";
import { complete, type Graph, type Group, type Node, newNode, timeOfCall } from "./graph";

/** Sample: `op0: SchedulerNode(ComputedBuffer)`, `op0_op3: FusedSchedulerNode(SchedulerNode,…)` */
const HEAD = /^(\w+): (\w*)SchedulerNode\((.*)\)/;
/** Sample: `op0_op3.snodes[0] =` */
const MEMBER = /^(\w+)\.snodes\[\d+\] =/;
/** Sample: `op1.unmet_dependencies = [MemoryDep('buf0', c0, {c0: 32})]`, or the list in the lines below */
const FIELD = /^\w+\.(\w+) =/;
/** Sample: `    buf0: ComputedBuffer` */
const BUFFER = /^ {4}(\w+): \w+$/;
const NAMED = /'(buf\d+)'/g;

interface Read {
  nodes: Node[];
  /** Name of the fused node that each belongs to, or its own. */
  fused: string[];
  waits: string[][];
  writers: Map<string, number>;
}

function read(lines: readonly string[]): Read {
  const [nodes, fused, waits]: [Node[], string[], string[][]] = [[], [], []];
  const writers = new Map<string, number>();
  let within = ""; // the fused node whose members follow
  let field = "";
  let open: Node | null = null;
  const close = (line: number) => {
    if (open) open.last = line;
    open = null;
  };
  lines.forEach((text, at) => {
    const head = HEAD.exec(text);
    if (head) {
      close(at);
      const [, name = "", kind = "", detail = ""] = head;
      field = "";
      if (/Fused$|^Foreach/.test(kind) || detail.includes("SchedulerNode")) {
        within = name; // its members follow, and say the same about themselves
        return;
      }
      if (!within.split("_").includes(name)) within = "";
      open = newNode(name, detail || kind, "", at + 1);
      nodes.push(open);
      fused.push(within || name);
      waits.push([]);
      return;
    }
    if (MEMBER.test(text)) close(at);
    if (!open) return;
    field = FIELD.exec(text)?.[1] ?? (text && !text.startsWith(" ") ? "" : field);
    if (field === "unmet_dependencies") {
      for (const found of text.matchAll(NAMED)) waits.at(-1)?.push(found[1] as string);
    } else if (field === "outputs") {
      const buffer = BUFFER.exec(text)?.[1];
      if (buffer) {
        writers.set(buffer, nodes.length - 1);
        open.type = open.type ? `${open.type}, ${buffer}` : buffer;
      }
    }
  });
  close(lines.length);
  return { nodes, fused, waits, writers };
}

/** The kernel whose code contains the first operation of some lines. */
function kernelOf(
  index: LinkIndex,
  kernels: readonly Kernel[],
  stage: string,
  node: Node,
): Kernel | null {
  for (const op of index.namesAt(stage, node.first, node.last, "op:").slice(0, 8)) {
    for (const line of index.linesOf("code", op).slice(0, 1)) {
      const found = kernelAt(kernels, line);
      if (found) return found;
    }
  }
  return null;
}

export function irGraph(
  stage: string,
  lines: readonly string[],
  index: LinkIndex,
  kernels: readonly Kernel[],
): Graph {
  const { nodes, fused, waits, writers } = read(lines);
  nodes.forEach((node, at) => {
    const inputs = (waits[at] ?? []).flatMap((buffer) => writers.get(buffer) ?? []);
    node.inputs = [...new Set(inputs)].filter((input) => input !== at);
  });
  const groups = new Map<string, Group>();
  nodes.forEach((node, at) => {
    const name = fused[at] as string;
    let group = groups.get(name);
    if (!group) {
      const kernel = kernelOf(index, kernels, stage, node);
      const alone = name === node.name ? node.op : "fused";
      group = {
        title: kernel ? kernelTitle(kernel) : alone,
        kernel: kernel?.name ?? null,
        handle: null,
        hue: kernel ? hueOf(kernel.category) : "gemm",
        time_us: kernel && timeOfCall(kernel),
        nodes: [],
      };
      groups.set(name, group);
    }
    group.nodes.push(at);
  });
  for (const group of groups.values()) {
    if (group.title === "fused") group.title = `${group.nodes.length} fused`;
  }
  return complete(stage, "buffers", nodes, [...groups.values()]);
}
