// The post-grad FX graph, grouped into the kernel calls that its nodes were fused into. Pure.
import type { Nodes } from "../../shared/api";
import { hueOf } from "../../shared/naming";
import { POST_GRAD } from "../../shared/vocabulary";
import { kernelTitle } from "../kernel-names";
import type { Kernel } from "../shapes";
import { complete, type Graph, type Group, newNode } from "./graph";

/** `torch.ops.aten.add.Tensor` → `add`. */
function shortTarget(target: string): string {
  const parts = target.split(".");
  if (parts[0] === "torch" && parts[1] === "ops" && parts.length > 3) return parts[3] as string;
  return parts.at(-1) ?? target;
}

/** The graph's output is not a node: it would join everything that is saved for later. */
function withoutOutputs(columns: Nodes): Nodes {
  const kept = columns.targets.flatMap((target, at) => (target === "output" ? [] : [at]));
  const now = new Map(kept.map((before, at) => [before, at]));
  const pick = <Item>(items: readonly Item[]) => kept.map((at) => items[at] as Item);
  return {
    names: pick(columns.names),
    targets: pick(columns.targets),
    types: pick(columns.types),
    lines: pick(columns.lines),
    inputs: pick(columns.inputs).map((inputs) => inputs.flatMap((at) => now.get(at) ?? [])),
  };
}

export function fxGraph(all: Nodes, kernels: readonly Kernel[]): Graph {
  const columns = withoutOutputs(all);
  const nodes = columns.names.map((name, at) => {
    const target = columns.targets[at] ?? "";
    const node = newNode(
      name,
      shortTarget(target),
      columns.types[at] ?? "",
      columns.lines[at] ?? 0,
    );
    node.inputs = columns.inputs[at] ?? [];
    node.given = target === name;
    if (node.given) node.op = "input";
    return node;
  });
  const places = new Map(columns.names.map((name, at) => [name, at]));
  const calls = kernels.flatMap((kernel) =>
    kernel.calls.map((call) => ({ kernel, call, line: call.line })),
  );
  calls.sort((one, other) => one.line - other.line);
  const groups: Group[] = calls.map(({ kernel, call }) => ({
    title: kernelTitle(kernel),
    kernel: kernel.name,
    handle: call.handle,
    library: kernel.first === null,
    hue: hueOf(kernel.category),
    time_us: kernel.time_us === null ? null : kernel.time_us / Math.max(1, kernel.calls.length),
    nodes: call.fx.flatMap((name) => places.get(name) ?? []),
  }));
  return complete(POST_GRAD, "values", nodes, groups);
}
