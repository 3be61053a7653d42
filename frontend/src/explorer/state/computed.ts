// How often a node is computed. Pure.

import { count } from "../../shared/figures";
import { IR_POST, IR_PRE } from "../../shared/vocabulary";
import type { Kernel } from "../shapes";
import { kernelAt } from "./follow";
import type { LinkIndex } from "./links";

/** Operations that compute nothing: they read, write, or give an index or a number. */
const MINOR =
  /^(?:load|store|get_index|index_expr|constant|set_indirect|check_bounds|masked|getitem)/;
/** A reduction has several steps (parts first, then their sum), which do not count as
 * recomputing. */
const REDUCES = /^(?:reduction|store_reduction|welford|scan|sort)/;

interface Place {
  /** Scheduler node: `op7` of `op:op7.mul_1`. */
  node: string;
  op: string;
}

function placeOf(entity: string): Place {
  const [node = "", ...rest] = entity.slice("op:".length).split(".");
  return { node, op: rest.at(-1) ?? "" };
}

export interface Computed {
  /** Loop bodies that compute it. */
  times: number;
  kernels: string[];
}

/** Where a node is computed, by the operations of loop bodies that belong to it. */
function computedIn(index: LinkIndex, kernels: readonly Kernel[], node: string): Computed {
  const stage = index.has(IR_POST) ? IR_POST : IR_PRE;
  const bodies = new Set<string>();
  const found = new Set<string>();
  for (const line of index.linesOf(stage, node, 2)) {
    for (const entity of index.namesAt(stage, line, line, "op:")) {
      const { node: body, op } = placeOf(entity);
      if (REDUCES.test(op)) return { times: 1, kernels: [] };
      if (MINOR.test(op)) continue;
      bodies.add(body);
      const at = index.linesOf("code", entity, 2)[0];
      const kernel = at === undefined ? null : kernelAt(kernels, at);
      if (kernel) found.add(kernel.name);
    }
  }
  return { times: bodies.size, kernels: [...found] };
}

/** "`gelu` is computed 3 times, in 2 kernels"; nothing if it is computed once. */
export function computedAgain(
  index: LinkIndex,
  kernels: readonly Kernel[],
  nodes: readonly string[],
): string[] {
  const again = nodes
    .map((node) => ({ node, ...computedIn(index, kernels, node) }))
    .filter(({ times }) => times > 1)
    .sort((one, other) => other.times - one.times);
  return again.map(({ node, times, kernels: names }) => {
    const where = names.length ? `, in ${count(names.length, "kernel")}` : "";
    return `${node.slice(node.indexOf(":") + 1)} is computed ${times} times${where}.`;
  });
}
