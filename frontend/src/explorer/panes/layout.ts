// Panes side by side, with splitters that move by dragging or arrow keys, or tabs if only one fits.
import { button, make } from "../../shared/elements";
import { count } from "../../shared/figures";
import type { Pane } from "./pane";

const STEP = 0.08;

function grow(pane: Pane): number {
  return Number(pane.root.style.flexGrow);
}

function widen(pane: Pane, to: number): void {
  pane.address.width = 100 * to;
  pane.root.style.flexGrow = String(to);
}

/** Move the border between two panes by a share of their common width. */
function shift(left: Pane, right: Pane, by: number): number {
  const sum = grow(left) + grow(right);
  const part = Math.min(0.92, Math.max(0.08, grow(left) / sum + by));
  widen(left, sum * part);
  widen(right, sum * (1 - part));
  return Math.round(part * 100);
}

function splitter(left: Pane, right: Pane, moved: () => void): HTMLElement {
  const handle = make("div", {
    class: "splitter",
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": "Border between two panes",
    "aria-controls": left.id,
    "aria-valuemin": 8,
    "aria-valuemax": 92,
    "aria-valuenow": Math.round((100 * grow(left)) / (grow(left) + grow(right))),
  });
  const move = (by: number) => handle.setAttribute("aria-valuenow", String(shift(left, right, by)));
  handle.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    move(event.key === "ArrowLeft" ? -STEP : STEP);
    moved();
  });
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    let from = event.clientX;
    const width = left.root.clientWidth + right.root.clientWidth;
    const drag = ({ clientX }: PointerEvent) => {
      move((clientX - from) / Math.max(1, width));
      from = clientX;
    };
    const drop = () => {
      handle.removeEventListener("pointermove", drag);
      moved();
    };
    handle.addEventListener("pointermove", drag);
    handle.addEventListener("pointerup", drop, { once: true });
  });
  handle.addEventListener("dblclick", () => {
    const half = (grow(left) + grow(right)) / 2;
    for (const pane of [left, right]) widen(pane, half);
    move(0);
    moved();
  });
  return handle;
}

/** Insert the panes in order, with splitters between them. Existing panes keep their place.
 * `moved`: a splitter was. */
export function layOut(into: HTMLElement, panes: readonly Pane[], moved: () => void): void {
  for (const old of into.querySelectorAll(".splitter")) old.remove();
  panes.forEach((pane, at) => {
    pane.canClose(panes.length > 1);
    pane.root.style.flexGrow = String((pane.address.width ?? 100) / 100);
    if (into.children[at] !== pane.root) into.insertBefore(pane.root, into.children[at] ?? null);
  });
  for (let at = 1; at < panes.length; at++) {
    const [left, right] = [panes[at - 1], panes[at]];
    if (left && right) into.insertBefore(splitter(left, right, moved), right.root);
  }
}

/** Tabs for a narrow screen: the kernels, or one of the panes. */
export function fillTabs(
  tabs: HTMLElement,
  side: HTMLElement,
  panes: readonly Pane[],
  shown: Pane | null,
  show: (pane: Pane | null) => void,
): void {
  const entries: [string, HTMLElement, Pane | null, number][] = [["Kernels", side, null, 0]];
  for (const pane of panes) entries.push([pane.stage?.title ?? "", pane.root, pane, pane.lit]);
  const focused = [...tabs.children].indexOf(document.activeElement as Element);
  tabs.replaceChildren(
    ...entries.map(([title, panel, pane, lit]) => {
      const on = pane === shown;
      panel.classList.toggle("shown", on);
      const attributes = { class: null, role: "tab", "aria-selected": String(on) };
      const number = { class: "num", title: count(lit, "lit line") };
      const label = [title, lit ? make("span", number, ` ${lit}`) : null];
      return button(label, attributes, () => show(pane));
    }),
  );
  tabs.querySelectorAll("button")[focused]?.focus();
}
