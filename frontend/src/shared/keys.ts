// Keys: each part of a page has a table of its own, which the handler, the help and the search box
// read.
import { dialogOf, make } from "./elements";

export interface Key {
  keys: readonly string[];
  /** The keys as the help writes them; a key without is not listed there. */
  shown: string;
  does: string;
  run?(): void;
}

/** A row of such a table. */
export function key(keys: readonly string[], shown: string, does: string, run: () => void): Key {
  return { keys, shown, does, run };
}

const tables = new Set<readonly Key[]>();

/** List keys in the help and the search box until `signal` is aborted. */
export function offerKeys(keys: readonly Key[], signal: AbortSignal | null = null): void {
  tables.add(keys);
  signal?.addEventListener("abort", () => tables.delete(keys));
}

/** The keys of everything on the page. */
export function offeredKeys(): Key[] {
  return [...tables].flat();
}

/** Fields where letters are input. */
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  const code = target.closest(".cm-content");
  if (code) return code.ariaReadOnly !== "true";
  return target.matches("input:not([type=checkbox]), textarea, select, [contenteditable=true]");
}

/** Elements that use Enter and Space. */
const PRESSED = "button, a, summary, [role=tab], [type=checkbox]";

/** Offer keys and listen for them in `root` until `signal` is aborted. */
export function listen(
  root: HTMLElement,
  keys: readonly Key[],
  signal: AbortSignal | null = null,
): void {
  offerKeys(keys, signal);
  const byKey = new Map(keys.flatMap((entry) => entry.keys.map((key) => [key, entry] as const)));
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.shiftKey && event.key.startsWith("Arrow")) return;
      if (document.querySelector("dialog[open]") || takesText(event.target)) return;
      const outside = event.target instanceof Node && !root.contains(event.target);
      if (outside && event.target !== document.body) return;
      const target = event.target instanceof HTMLElement ? event.target : null;
      if ((event.key === "Enter" || event.key === " ") && target?.matches(PRESSED)) return;
      if (target?.closest("[role=separator]") && event.key.startsWith("Arrow")) return;
      if (target?.dataset.ownKeys?.split(" ").includes(event.key === " " ? "Space" : event.key))
        return;
      const named = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
      const entry = byKey.get(named);
      if (!entry) return;
      event.preventDefault();
      event.stopPropagation();
      entry.run?.();
    },
    { capture: true, ...(signal && { signal }) },
  );
}

/** Keys as the help and the search box show them. */
export function drawn(shown: string): (HTMLElement | string)[] {
  return shown.split(" ").flatMap((key) => (key ? [make("kbd", {}, key), " "] : []));
}

/** Show the keys of the page. */
export function showKeys(): void {
  const rows = offeredKeys().flatMap(({ shown, does }) => {
    const keys = make("td", { class: "nowrap" }, ...drawn(shown));
    return shown ? [make("tr", {}, keys, make("td", {}, does))] : [];
  });
  const table = make("table", { class: "keys-table" }, make("tbody", {}, ...rows));
  const dialog = dialogOf("keys-help", "Keys", table);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
