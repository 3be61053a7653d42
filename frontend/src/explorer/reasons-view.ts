// "How is this known?": a note above the status line, for the match one walked to or for the lines
// that light in each pane.
import { button, make } from "../elements";
import { ask } from "../server";
import type { Explorer } from "./explorer";
import { type LitLine, plain, type Reason, reasonOf } from "./reasons";

/** Lines of a pane that are explained. */
const OF_PANE = 3;
const WORDS: Record<number, string> = { 1: "kernel only", 2: "inferred", 3: "exact" };

/** What the server says of one link, where it can. */
interface Told {
  reasons: { why: string }[];
}

export class ReasonsView {
  private readonly explorer: Explorer;
  private readonly root = make("div", {
    class: "reasons",
    popover: "auto",
    role: "dialog",
    "aria-label": "How this is known",
  });

  constructor(explorer: Explorer) {
    this.explorer = explorer;
    explorer.root.append(this.root);
    explorer.part(".what").addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.closest(".how")) this.open();
    });
    // Closed, it gives the focus back to where it was asked from.
    this.root.addEventListener("toggle", (event) => {
      if (event.newState === "closed" && !document.activeElement?.closest(".pane")) {
        explorer.active?.focus();
      }
    });
  }

  open(): void {
    const { explorer, root } = this;
    const close = button("×", { class: "icon", "aria-label": "Close" }, () => root.hidePopover());
    const reasons = this.reasons();
    const list = make("ul", {}, ...reasons.map((reason) => this.row(reason)));
    const body = reasons.length
      ? list
      : make(
          "p",
          { class: "soft" },
          explorer.selected
            ? "No line of the panes is linked to the selection."
            : "Keep a line first (click or Enter): this then says how its links are known.",
        );
    root.replaceChildren(make("h2", {}, "How is this known?"), close, body);
    root.showPopover();
    (root.querySelector<HTMLElement>("li button") ?? close).focus();
  }

  private reasons(): Reason[] {
    const { explorer } = this;
    const { selected, stop, index } = explorer;
    if (!selected) return [];
    const lines: LitLine[] = [];
    for (const pane of explorer.panes) {
      const { content, stage } = pane;
      if (content?.kind !== "code" || (stop && stop.pane !== pane)) continue;
      const origin = explorer.lighting.originIn(pane);
      const lit = stop ? [stop.line] : [...explorer.lighting.litIn(pane).lines];
      const shown = lit.filter((line) => !origin || line < origin.first || line > origin.last);
      for (const line of shown.slice(0, OF_PANE)) {
        const { stage: id } = pane.address;
        lines.push({ stage: id, title: stage?.title ?? id, key: content.key, line });
      }
    }
    return lines.flatMap((lit) => reasonOf(index, selected, lit) ?? []);
  }

  private row(reason: Reason): HTMLElement {
    const { stage, title, key, line, known } = reason;
    const go = button("", { class: `chain-link known-${known}` }, () => {
      this.root.hidePopover();
      const file = key.startsWith("source:") ? key.slice("source:".length) : null;
      const kernel = stage === "kernel" ? this.explorer.kernel : null;
      void this.explorer.lead({ stage, key, line, file, kernel, handle: null });
    });
    go.append(make("span", { class: "chain-label" }, `${title} ${line}`), " ");
    const text = make("span", { class: "chain-text" });
    go.append(text);
    void this.explorer
      .lineText(key, line)
      .then((found) => text.append((found ?? "").trim()))
      .catch(() => {}); // the line's number says enough
    const chip = make("span", { class: "chip" }, WORDS[known] ?? "unknown");
    const why = make("p", {}, chip, ` ${reason.why.join(" ")}`);
    if (reason.others.length) {
      const many = reason.others.length + 1;
      const names = [plain(reason.entity), ...reason.others].slice(0, 6).join(", ");
      why.append(make("b", {}, ` ${many === 2 ? "Two" : many} answers are possible: ${names}.`));
    }
    if (key === "code" && known === 2) void this.fill(why, reason);
    return make("li", {}, go, why);
  }

  /** The engine's own reason, where the server can tell it. */
  private async fill(into: HTMLElement, { line, entity }: Reason): Promise<void> {
    const { run, graph } = this.explorer.picture;
    const query = new URLSearchParams({ stage: "code", line: String(line), entity });
    const url = `/api/runs/${run.id}/graphs/${encodeURIComponent(graph.slug)}/reason?${query}`;
    const told = await ask<Told>(url).catch(() => null); // then what the links say is all there is
    for (const { why } of told?.reasons ?? []) into.append(` ${why}`);
  }
}
