import type { Kernel } from "./shapes";

/** What a kernel computes, with the number that tells it apart: `layer_norm + gelu 3`. */
export function kernelTitle({ operations, number }: Kernel): string {
  return `${operations} ${number}`.trim();
}
