// The explorer's keys: one table that both the handler and the help read.
import { make } from "../../shared/elements";

export interface Key {
  keys: readonly string[];
  shown: string;
  does: string;
  run(): void;
}

/** Fields where letters are input. */
function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.closest(".cm-content")) return false; // read-only code takes no text
  return target.matches("input:not([type=checkbox]), textarea, select, [contenteditable=true]");
}

/** Whether the focused element uses Enter or Space. */
function isPressed(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.matches("button, a, summary, [role=tab], [type=checkbox]")
  );
}

/** Listens until `signal` is aborted. */
export function listen(
  root: HTMLElement,
  keys: readonly Key[],
  signal: AbortSignal | null = null,
): void {
  const byKey = new Map(keys.flatMap((entry) => entry.keys.map((key) => [key, entry] as const)));
  document.addEventListener(
    "keydown",
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.shiftKey && event.key.startsWith("Arrow")) return;
      if (document.querySelector("dialog[open]") || takesText(event.target)) return;
      const outside = event.target instanceof Node && !root.contains(event.target);
      if (outside && event.target !== document.body) return;
      if ((event.key === "Enter" || event.key === " ") && isPressed(event.target)) return;
      const inList =
        event.target instanceof HTMLElement && event.target.closest("[role=separator]");
      if (inList && event.key.startsWith("Arrow")) return;
      const owner = event.target instanceof HTMLElement ? event.target.dataset.ownKeys : null;
      if (owner?.split(" ").includes(event.key === " " ? "Space" : event.key)) return;
      const named = event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key;
      const entry = byKey.get(named);
      if (!entry) return;
      event.preventDefault();
      event.stopPropagation();
      entry.run();
    },
    { capture: true, ...(signal && { signal }) },
  );
}

export function helpDialog(keys: readonly Key[]): HTMLDialogElement {
  const rows = keys
    .filter((entry) => entry.shown)
    .map((entry) => {
      const cell = make("td", { class: "nowrap" });
      entry.shown.split(" ").forEach((key, at) => {
        if (at) cell.append(" ");
        cell.append(make("kbd", {}, key));
      });
      return make("tr", {}, cell, make("td", {}, entry.does));
    });
  const move = make(
    "tr",
    {},
    make("td", { class: "nowrap" }, make("kbd", {}, "↑"), " ", make("kbd", {}, "↓")),
    make("td", {}, "move by line; the other panes preview what the line became"),
  );
  const close = make("button", { class: "button", value: "close" }, "Close");
  const dialog = make(
    "dialog",
    { "aria-labelledby": "keys-title", id: "keys-help" },
    make("h2", { id: "keys-title" }, "Keys"),
    make("table", { class: "keys-table" }, make("tbody", {}, move, ...rows)),
    make(
      "p",
      { class: "soft" },
      "A solid edge marks lines known exactly, a dashed one those inferred by " +
        "operation and data flow, a dotted one those of which only the kernel is known.",
    ),
    make("form", { method: "dialog" }, close),
  );
  document.body.append(dialog);
  return dialog;
}
