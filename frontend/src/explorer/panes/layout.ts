// Panes side by side, with splitters that move by dragging or arrow keys, or tabs if only one fits.
import { make } from "../../shared/elements";
import { count } from "../../shared/figures";
import { whenIdle } from "../../shared/frames";
import type { Pane } from "./pane";

const STEP = 0.08;

function grow(pane: Pane): number {
  return Number(pane.root.style.flexGrow || getComputedStyle(pane.root).flexGrow);
}

/** Move the border between two panes by a share of their common width. */
function shift(left: Pane, right: Pane, by: number): number {
  const sum = grow(left) + grow(right);
  const part = Math.min(0.92, Math.max(0.08, grow(left) / sum + by));
  left.root.style.flexGrow = String(sum * part);
  right.root.style.flexGrow = String(sum * (1 - part));
  return Math.round(part * 100);
}

function splitter(left: Pane, right: Pane): HTMLElement {
  const handle = make("div", {
    class: "splitter",
    role: "separator",
    tabindex: "0",
    "aria-orientation": "vertical",
    "aria-label": "Border between two panes",
    "aria-controls": left.id,
    "aria-valuemin": 8,
    "aria-valuemax": 92,
    "aria-valuenow": 50,
  });
  const move = (by: number) => handle.setAttribute("aria-valuenow", String(shift(left, right, by)));
  whenIdle(() => handle.isConnected && move(0)); // reads a style, which costs a layout
  handle.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    move(event.key === "ArrowLeft" ? -STEP : STEP);
  });
  handle.addEventListener("pointerdown", (event) => {
    handle.setPointerCapture(event.pointerId);
    let from = event.clientX;
    const width = left.root.clientWidth + right.root.clientWidth;
    const drag = (moved: PointerEvent) => {
      move((moved.clientX - from) / Math.max(1, width));
      from = moved.clientX;
    };
    handle.addEventListener("pointermove", drag);
    handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", drag), {
      once: true,
    });
  });
  handle.addEventListener("dblclick", () => {
    const half = (grow(left) + grow(right)) / 2;
    left.root.style.flexGrow = right.root.style.flexGrow = String(half);
    move(0);
  });
  return handle;
}

/** Insert the panes in order, with splitters between them. Existing panes keep their place. */
export function layOut(into: HTMLElement, panes: readonly Pane[]): void {
  for (const old of into.querySelectorAll(".splitter")) old.remove();
  panes.forEach((pane, at) => {
    pane.canClose(panes.length > 1);
    if (into.children[at] !== pane.root) into.insertBefore(pane.root, into.children[at] ?? null);
  });
  for (let at = 1; at < panes.length; at++) {
    const [left, right] = [panes[at - 1], panes[at]];
    if (left && right) into.insertBefore(splitter(left, right), right.root);
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
      const tab = make(
        "button",
        { type: "button", role: "tab", "aria-selected": String(on) },
        title,
      );
      if (lit) tab.append(make("span", { class: "num", title: count(lit, "lit line") }, ` ${lit}`));
      tab.addEventListener("click", () => show(pane));
      return tab;
    }),
  );
  tabs.querySelectorAll("button")[focused]?.focus();
}
