// Kinds of kernels, by which the list can be filtered. Pure.
import type { Kernel } from "../shapes";

export function kindOf(kernel: Kernel): string {
  return kernel.category && kernel.category !== "unk" ? kernel.category : kernel.kind;
}

/** The kinds and how many kernels each has, the most frequent first. */
export function kindsOf(kernels: readonly Kernel[]): { kind: string; kernels: number }[] {
  return [...Map.groupBy(kernels, kindOf)]
    .map(([kind, own]) => ({ kind, kernels: own.length }))
    .sort((one, other) => other.kernels - one.kernels);
}
