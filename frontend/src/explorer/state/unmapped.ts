// What is not explained, and why: kernel lines that compute but name no node, and nodes that no
// line or call of the code names. Pure.

import { IR_POST, IR_PRE, POST_GRAD } from "../../shared/vocabulary";
import type { GraphPicture, Kernel } from "../shapes";
import type { LinkIndex } from "./links";

export interface Unmapped {
  /** Line of the output code, or of the post-grad graph. */
  line: number;
  text: string;
  where: string;
  reason: string;
}

/** Lines that compute; the server counts them by the same rule. */
const COMPUTES = /\btmp\w*\d|_ptr\d+(?:\[| \+)/;
/** Sample: `    add_1: "f32[4, 256][256, 1]cpu" = torch.ops.aten.add.Tensor(…)`, `getitem = var_mean[0]` */
const NODE = /^\s+(\w+)(?:: "[^"]*")? = (?:torch\.ops\.(\w+)\.(\w+)|(\w+)(\[))?/;
/** They only rename memory, and disappear in the code. */
const VIEWS = new Set(
  (
    "view reshape _unsafe_view permute transpose t expand squeeze unsqueeze slice select alias " +
    "detach as_strided split unbind diagonal view_as_real view_as_complex"
  ).split(" "),
);
const CONSTANTS = new Set("full full_like scalar_tensor zeros ones empty arange iota".split(" "));

function reasonOfLine(index: LinkIndex, kernel: Kernel, line: number, aligned: boolean): string {
  const ops = index.namesAt("code", line, line, "op:");
  if (ops.length) {
    const guessed = index
      .namesAt("code", line, line, "fx:")
      .map((name) => name.slice("fx:".length));
    if (guessed.length) {
      return `Shown as a guess within the kernel, as other readings may fit too: likely ${guessed.join(" or ")}.`;
    }
    const op = (ops[0] as string).slice("op:".length);
    return `The line is ${op}; its FX node is not known.`;
  }
  if (!index.has(IR_POST) && !index.has(IR_PRE)) {
    return "No IR was uploaded with the graph: lines are aligned with its loop bodies.";
  }
  if (/template|user|foreach/.test(`${kernel.kind} ${kernel.category}`)) {
    return "A template wrote it, without a loop body: it is linked at its call.";
  }
  if (!aligned) return "No line of this kernel could be aligned with a loop body.";
  return "No operation of the kernel's loop bodies fits this line.";
}

/** Kernel lines that compute and are not known to belong to a node. */
export function unmappedLines(
  index: LinkIndex,
  picture: GraphPicture,
  code: readonly string[],
): Unmapped[] {
  const found: Unmapped[] = [];
  for (const kernel of picture.kernels) {
    if (kernel.first === null || kernel.last === null) continue;
    const [from, to] = bodyOf(code, kernel.first, kernel.last);
    const aligned = index.namesAt("code", from, to, "fx:", 2).length > 0;
    for (let line = from; line <= to; line++) {
      const text = code[line - 1] ?? "";
      if (!COMPUTES.test(text)) continue;
      if (index.namesAt("code", line, line, "fx:", 2).length) continue;
      const reason = reasonOfLine(index, kernel, line, aligned);
      found.push({ line, text: text.trim(), where: kernel.name, reason });
    }
  }
  return found.sort((one, other) => one.line - other.line);
}

/** The function that computes, in a kernel's definition. */
function bodyOf(code: readonly string[], first: number, last: number): [number, number] {
  let from = first;
  for (let line = first; line <= last; line++) {
    const text = code[line - 1] ?? "";
    if (text.startsWith('extern "C"') || text.startsWith("@triton.jit")) from = line + 2;
  }
  for (let line = from; line <= last; line++) {
    const text = code[line - 1] ?? "";
    if (/^(?:}|'''|def |[a-z@])/.test(text)) return [from, line - 1];
  }
  return [from, last];
}

function reasonOfNode(op: string, indexed: boolean, used: boolean): string {
  if (indexed) return "It picks one result of another node and needs no code.";
  if (VIEWS.has(op)) return "It is another view of the same memory and needs no code.";
  if (!used) return "Nothing uses its value, so no code was written for it.";
  if (CONSTANTS.has(op)) return "A constant, written into the lines that use it.";
  return "No line, comment or call of the output code names it.";
}

/** Nodes of the post-grad graph that the output code never names. */
export function unmappedNodes(index: LinkIndex, graph: readonly string[]): Unmapped[] {
  const found: Unmapped[] = [];
  const uses = new Map<string, number>();
  for (const text of graph) {
    const plain = text.replace(/; .*$/, ""); // `neg = None` frees, it does not use
    for (const name of new Set(plain.match(/\b[a-z_]\w*\b/g) ?? [])) {
      uses.set(name, (uses.get(name) ?? 0) + 1);
    }
  }
  graph.forEach((text, at) => {
    const node = NODE.exec(text);
    const name = node?.[1];
    if (!node || !name || index.linesOf("code", `fx:${name}`).length) return;
    if (!index.namesAt(POST_GRAD, at + 1, at + 1, "fx:").includes(`fx:${name}`)) return;
    const op = node[3] ?? "";
    const indexed = node[5] !== undefined;
    const reason = reasonOfNode(op, indexed, (uses.get(name) ?? 0) > 1);
    found.push({ line: at + 1, text: text.trim(), where: indexed ? "getitem" : op, reason });
  });
  return found;
}
