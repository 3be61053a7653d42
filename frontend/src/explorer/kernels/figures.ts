// How close a kernel comes to the machine's limits, requested once per kernel.
import type { KernelPage } from "../../shared/api";
import { perSecond, share } from "../../shared/figures";
import { once } from "../../shared/once";
import { ask } from "../../shared/server";
import type { Kernel } from "../shapes";

export interface Figures {
  /** Share of the limit that applies, 0 to 1. */
  share: number;
  words: string;
}

export class KernelFigures {
  private readonly asked = once((page: string) => figuresOf(`/api${page}`).catch(() => null));

  /** `pages`: the beginning of the addresses of kernel pages. */
  constructor(private readonly pages: string) {}

  pageOf({ name, calls }: Kernel, handle: number | null): string {
    return `${this.pages}${encodeURIComponent(name)}:${handle ?? calls[0]?.handle ?? 1}`;
  }

  /** Null if its time or its bytes are unknown, or if it is too small to judge. */
  of(kernel: Kernel, handle: number | null): Promise<Figures | null> {
    if (kernel.time_us === null || !kernel.calls.length) return Promise.resolve(null);
    return this.asked(this.pageOf(kernel, handle));
  }
}

async function figuresOf(url: string): Promise<Figures | null> {
  const { roofline } = await ask<KernelPage>(url);
  const { bytes_per_s, operations_per_s, share: part, bound, small } = roofline?.standing ?? {};
  if (part === null || part === undefined || small) return null;
  const speeds = [
    bytes_per_s ? perSecond(bytes_per_s, "B") : "",
    operations_per_s ? perSecond(operations_per_s, "FLOP") : "",
  ];
  const limit = bound === "memory" ? "of the memory's speed" : "of the arithmetic's speed";
  return { share: part, words: [...speeds.filter(Boolean), `${share(part)} ${limit}`].join(" · ") };
}
