// The kernels, calls and files that a selection leads to. Pure.

import type { GraphPicture, Kernel, KernelCall } from "../shapes";
import { EXACT, KERNEL } from "./certainty";
import { EVERY_CALL, type LinkIndex, type Matches, type Selected, within } from "./links";

export function kernelNamed(picture: GraphPicture, name: string | null): Kernel | null {
  return picture.kernels.find((kernel) => kernel.name === name) ?? null;
}

/** The kernel whose definition contains a line of the output code. */
export function kernelAt(kernels: readonly Kernel[], line: number): Kernel | null {
  const holds = ({ first, last }: Kernel) => first !== null && first <= line && line <= (last ?? 0);
  return kernels.find(holds) ?? null;
}

/** The link entity of one call, or the mark for all calls. */
export function callEntity(index: LinkIndex, kernel: Kernel | null, handle: number | null): number {
  if (!kernel || handle === null) return EVERY_CALL;
  return index.entity(`call:${kernel.name}:${handle}`) ?? EVERY_CALL;
}

export function linesOfKernel(matches: Matches, kernel: Kernel): Matches {
  return within(matches, kernel.first ?? 0, kernel.last ?? -1);
}

/** Kernels that compute a selection: by their lines, or by their call if the code is in a
 * library. */
export function kernelsOf(picture: GraphPicture, code: Matches): Kernel[] {
  if (!code.lines.length) return [];
  return picture.kernels.filter((kernel) => {
    if (kernel.first !== null) return linesOfKernel(code, kernel).lines.length > 0;
    return kernel.calls.some((call) => within(code, call.line, call.line).lines.length > 0);
  });
}

/** Calls of a kernel that compute a selection; `limited`: the calls that its lines are limited
 * to. */
export function callsOfKernel(
  index: LinkIndex,
  limited: ReadonlySet<number>,
  kernel: Kernel,
  code: Matches,
): KernelCall[] {
  return kernel.calls.filter((call) => {
    const entity = index.entity(`call:${kernel.name}:${call.handle}`);
    const lit = within(code, call.line, call.line).lines.length > 0;
    return lit || !limited.size || (entity !== null && limited.has(entity));
  });
}

/** The selection's part of a kernel's time: the time of its calls, if the profile has it. Otherwise
 * all calls of the kernel count equally, which is an estimate if the selection is part of only
 * some. */
export interface Spent {
  kernel: Kernel;
  us: number;
  calls: readonly KernelCall[];
  estimated: boolean;
}

export function spentIn(
  index: LinkIndex,
  selected: Selected,
  kernels: readonly Kernel[],
  code: Matches,
): Spent[] {
  const limited = index.callsOf(selected, "code");
  const chosen = ({ fx }: KernelCall) =>
    fx.some((node) => selected.entities.has(index.entity(`fx:${node}`) ?? -1));
  const ofNodes = [...selected.entities.keys()].some((at) => index.entities[at]?.startsWith("fx:"));
  return kernels.flatMap((kernel) => {
    // A kernel's comments also name nodes that it only reads.
    const known = ofNodes && !selected.wholeKernel && kernel.calls.some(({ fx }) => fx.length > 0);
    const all = known ? kernel.calls : callsOfKernel(index, limited, kernel, code);
    const some = known ? all.filter(chosen) : all;
    if (kernel.time_us === null || (known && !some.length)) return [];
    if (!some.length || some.length === kernel.calls.length) {
      return [{ kernel, calls: kernel.calls, us: kernel.time_us, estimated: false }];
    }
    if (some.every((call) => call.time_us !== null)) {
      const us = some.reduce((sum, call) => sum + (call.time_us ?? 0), 0);
      return [{ kernel, calls: some, us, estimated: !some.every((call) => call.measured) }];
    }
    const us = kernel.time_us * (some.length / kernel.calls.length);
    return [{ kernel, calls: some, us, estimated: true }];
  });
}

/** The times of a region's instances, from the first to the last: of its calls that have `count` of
 * them, by default the most. Empty if calls were not timed one by one. */
export function timesOfInstances(
  calls: readonly KernelCall[],
  count = calls.reduce((most, { instances }) => Math.max(most, instances.length), 0),
): number[] {
  const alike = calls.filter(({ instances }) => instances.length === count);
  const sumAt = (at: number) => alike.reduce((sum, call) => sum + (call.instances[at] ?? 0), 0);
  return Array.from({ length: alike.length && count }, (_, at) => sumAt(at));
}

export function isPart({ kernel, calls }: Spent): boolean {
  return calls.length < kernel.calls.length;
}

/** The current call: the chosen one, or the selected one, or the dearest that computes the
 * selection, or the first; null if none of these exists. */
export function callOf(
  index: LinkIndex,
  selected: Selected | null,
  kernel: Kernel | null,
  handle: number | null,
): KernelCall | null {
  if (!kernel) return null;
  const chosen = kernel.calls.find((call) => call.handle === handle);
  if (chosen || !selected) return chosen ?? null;
  const { origin } = selected;
  const code = index.matches(selected, "code");
  const [dearest] = kernel.calls
    .filter(({ line }) => within(code, line, line).lines.length > 0)
    .sort((one, other) => (other.time_us ?? 0) - (one.time_us ?? 0));
  const at = ({ line }: KernelCall) =>
    origin?.key === "code" && origin.first <= line && line <= origin.last;
  return kernel.calls.find(at) ?? dearest ?? null;
}

/** The call to show if the chosen one does not compute the selection. */
export function handleFor(
  index: LinkIndex,
  selected: Selected,
  kernel: Kernel | null,
  handle: number | null,
): number | null {
  if (!kernel || handle === null) return handle;
  const chosen = callEntity(index, kernel, handle);
  if (linesOfKernel(index.matches(selected, "code", chosen), kernel).lines.length) return handle;
  const calls = index.callsOf(selected, "code");
  for (const call of kernel.calls) {
    const entity = index.entity(`call:${kernel.name}:${call.handle}`);
    if (entity !== null && calls.has(entity)) return call.handle;
  }
  return null;
}

/** A selection by entity; a kernel or a call includes the FX nodes that it computes. */
export function selectNamed(
  index: LinkIndex,
  picture: GraphPicture,
  name: string,
): Selected | null {
  const kernelName = /^(?:kernel:(.+)|call:(.+):\d+)$/.exec(name);
  const kernel = kernelNamed(picture, kernelName?.[1] ?? kernelName?.[2] ?? null);
  if (!kernel) return index.selectEntity(name);
  const handle = kernelName?.[2] ? Number(name.slice(name.lastIndexOf(":") + 1)) : null;
  const calls = kernel.calls.filter((call) => handle === null || call.handle === handle);
  const entities = new Map<number, number>();
  const add = (each: string, known: number) => {
    const entity = index.entity(each);
    if (entity !== null) entities.set(entity, Math.max(known, entities.get(entity) ?? 0));
  };
  add(name, EXACT);
  for (const call of calls) {
    add(`call:${kernel.name}:${call.handle}`, EXACT);
    for (const node of call.fx) add(`fx:${node}`, knownInCall(index, kernel, call, `fx:${node}`));
  }
  return entities.size ? { entities, origin: null, wholeKernel: true } : null;
}

/** How certain it is that a call computes a node: by its own line, and by those of its kernel. */
function knownInCall(index: LinkIndex, kernel: Kernel, call: KernelCall, node: string): number {
  const entity = index.entity(node) ?? -1;
  const own = index.surest("code", entity, call.line, call.line);
  if (kernel.first === null) return Math.max(own, KERNEL);
  const of = callEntity(index, kernel, call.handle);
  const last = kernel.last ?? kernel.first;
  return Math.max(own, index.surest("code", entity, kernel.first, last, of), KERNEL);
}
