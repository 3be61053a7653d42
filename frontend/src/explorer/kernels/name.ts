// Shows a kernel's name by its operations; the tooltip and copies contain the whole name.
import { cutName, make } from "../../shared/elements";
import type { KernelName } from "../kernel-names";

export function kernelName(whole: string, short: KernelName | undefined): HTMLElement {
  if (!short || short.operations === whole) return cutName(whole);
  return make(
    "span",
    { class: "cut short", title: whole, "data-full": whole },
    make("span", { class: "cut-head" }, short.operations),
    short.number ? make("span", { class: "cut-tail soft" }, `\u2009${short.number}`) : null,
  );
}
