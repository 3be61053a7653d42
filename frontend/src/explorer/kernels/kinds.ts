// Kinds of kernels, by which the list can be filtered. Pure.
import type { Kernel } from "../shapes";

export function kindOf(kernel: Kernel): string {
  return kernel.category && kernel.category !== "unk" ? kernel.category : kernel.kind;
}

/** The kinds and how many kernels each has, the most frequent first. */
export function kindsOf(kernels: readonly Kernel[]): { kind: string; kernels: number }[] {
  const counts = new Map<string, number>();
  for (const kernel of kernels) counts.set(kindOf(kernel), (counts.get(kindOf(kernel)) ?? 0) + 1);
  return [...counts]
    .map(([kind, number]) => ({ kind, kernels: number }))
    .sort((one, other) => other.kernels - one.kernels);
}
