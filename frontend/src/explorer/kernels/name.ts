// Shows a kernel's name by its operations; the tooltip and copies contain the whole name.
import { cutName, make } from "../../shared/elements";
import type { Kernel } from "../shapes";

export function kernelName({ name, operations, number }: Kernel): HTMLElement {
  if (operations === name) return cutName(name);
  return make(
    "span",
    { class: "cut short", title: name, "data-full": name },
    make("span", { class: "cut-head" }, operations),
    number ? make("span", { class: "cut-tail soft" }, `\u2009${number}`) : null,
  );
}

/** How often each of its calls is made in a step: as often as the subgraph around it, else once. */
export function instancesOf({ calls, call_count }: Kernel): number {
  return call_count > calls.length && call_count % calls.length === 0
    ? call_count / calls.length
    : 1;
}
