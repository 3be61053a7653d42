// Completes the names of torch's modules and of tensors.
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";

/** Names by the module or class that has them. */
export type Names = Readonly<Record<string, readonly string[]>>;

const TENSOR = "torch.Tensor";
const DOTTED = /(?:[\w)\]]+\.)*\w*$/;

/** The names that the code's imports give to modules: `F` → `torch.nn.functional`. */
export function importedNames(code: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, module, name] of code.matchAll(/^\s*import ([\w.]+) as (\w+)/gm)) {
    found.set(name ?? "", module ?? "");
  }
  for (const [, module, names] of code.matchAll(/^\s*from ([\w.]+) import ([^(#\n]+)/gm)) {
    for (const each of (names ?? "").split(",")) {
      const [name, alias] = each.trim().split(/ +as +/);
      found.set(alias ?? name ?? "", `${module}.${name}`);
    }
  }
  return found;
}

/** The module or class whose names fit after `owner.`; anything that is not a module counts as a
 * tensor. */
export function ownerOf(owner: string, code: string, names: Names): string {
  const [first = "", ...rest] = owner.split(".");
  const full = [importedNames(code).get(first) ?? first, ...rest].join(".");
  return full in names || /^torch\./.test(full) ? full : TENSOR;
}

export function completing(names: Names) {
  return ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const line = state.doc.lineAt(pos);
    const typed = state.sliceDoc(line.from, pos);
    const before = DOTTED.exec(typed)?.[0] ?? "";
    const dot = before.lastIndexOf(".");
    const isNumber = /^\d+\.\d*$/.test(before);
    if (typed.includes("#") || isNumber || (dot < 0 && !(explicit && before))) return null;
    const owner = ownerOf(before.slice(0, Math.max(dot, 0)), state.doc.toString(), names);
    const options = dot < 0 ? ["torch"] : (names[owner] ?? []);
    return {
      from: pos - (before.length - dot - 1),
      options: options.map((label) => ({ label })),
      validFor: /^\w*$/,
    };
  };
}
