// The post-grad FX graph, grouped into the kernel calls that its nodes were fused into. Pure.
import type { Nodes } from "../../shared/api";
import { hueOf } from "../../shared/naming";
import { POST_GRAD } from "../../shared/vocabulary";
import { kernelTitle } from "../kernel-names";
import type { Kernel } from "../shapes";
import { complete, type Graph, type Group, newNode, timeOfCall } from "./graph";

/** `torch.ops.aten.add.Tensor` → `add`. */
function shortTarget(target: string): string {
  const parts = target.split(".");
  if (parts[0] === "torch" && parts[1] === "ops" && parts.length > 3) return parts[3] as string;
  return parts.at(-1) ?? target;
}

export function fxGraph(columns: Nodes, kernels: readonly Kernel[]): Graph {
  // The graph's output is not a node: it would join everything that is saved for later.
  const kept = columns.targets.flatMap((target, at) => (target === "output" ? [] : [at]));
  const now = new Map(kept.map((before, at) => [before, at]));
  const nodes = kept.map((at) => {
    const target = columns.targets[at] ?? "";
    const name = columns.names[at] ?? "";
    const given = target === name;
    const op = given ? "input" : shortTarget(target);
    const node = newNode(name, op, columns.types[at] ?? "", columns.lines[at] ?? 0);
    node.inputs = (columns.inputs[at] ?? []).flatMap((input) => now.get(input) ?? []);
    node.given = given;
    return node;
  });
  const places = new Map(nodes.map(({ name }, at) => [name, at]));
  const calls = kernels.flatMap((kernel) => kernel.calls.map((call) => ({ kernel, call })));
  calls.sort((one, other) => one.call.line - other.call.line);
  const groups: Group[] = calls.map(({ kernel, call }) => ({
    title: kernelTitle(kernel),
    kernel: kernel.name,
    handle: call.handle,
    library: kernel.first === null,
    hue: hueOf(kernel.category),
    time_us: timeOfCall(kernel),
    nodes: call.fx.flatMap((name) => places.get(name) ?? []),
  }));
  return complete(POST_GRAD, "values", nodes, groups);
}
