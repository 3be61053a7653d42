// "How is this known?": a note above the status line about the current match, or about the
// highlighted lines of each pane.

import type { Reasons } from "../../shared/api";
import { button, make } from "../../shared/elements";
import { certainty } from "../../shared/naming";
import { ask } from "../../shared/server";
import { STAGES } from "../../shared/vocabulary";
import { type LitLine, plain, type Reason, reasonOf } from "../state/reasons";
import type { ViewHost } from "./host";

/** Most lines of a pane that are explained. */
const OF_PANE = 4;

/** Stages whose links the engine can explain. */
const EXPLAINED = new Set(
  STAGES.filter(({ names }) => names === "ir" || names === "code").map(({ id }) => id),
);
/** Most operations of a line that are explained. */
const SENTENCES = 3;

export class ReasonsView {
  private readonly root = make("div", {
    class: "reasons",
    popover: "auto",
    role: "dialog",
    "aria-label": "How this is known",
  });

  constructor(private readonly host: ViewHost) {
    host.root.append(this.root);
    host.part(".what").addEventListener("click", (event) => {
      if (event.target instanceof Element && event.target.closest(".how")) this.open();
    });
    // When closed, it returns the focus to where it was.
    this.root.addEventListener("toggle", (event) => {
      if (event.newState === "closed" && !document.activeElement?.closest(".pane")) {
        host.row.active?.focus();
      }
    });
  }

  open(): void {
    const { host, root } = this;
    const close = button("×", { class: "icon", "aria-label": "Close" }, () => root.hidePopover());
    const reasons = this.reasons();
    const list = make("ul", { class: "bare" }, ...reasons.map((reason) => this.row(reason)));
    const body = reasons.length
      ? list
      : make(
          "p",
          { class: "soft" },
          host.state.selected
            ? "No line of the panes is linked to the selection."
            : "Keep a line first (click or Enter): this then says how its links are known.",
        );
    root.replaceChildren(make("h2", {}, "How is this known?"), close, body);
    root.showPopover();
    (root.querySelector<HTMLElement>("li button") ?? close).focus();
  }

  private reasons(): Reason[] {
    const { state } = this.host;
    const { selected, stop, index } = state;
    if (!selected) return [];
    const lines: (LitLine & { call: number })[] = [];
    for (const pane of state.panes) {
      const content = state.content(pane);
      if (content.kind !== "code" || (stop && stop.pane !== pane)) continue;
      const origin = state.originIn(pane);
      const lit = stop ? [stop.line] : [...state.matchesIn(pane, selected).lines];
      const shown = lit.filter((line) => !origin || line < origin.first || line > origin.last);
      // Comments and definitions name the node too, but readers ask about lines that compute.
      const { key } = content;
      const computes = (line: number) => index.namesAt(key, line, line, "op:").length > 0;
      const ordered = [...shown.filter(computes), ...shown.filter((line) => !computes(line))];
      for (const line of ordered.slice(0, OF_PANE)) {
        const title = state.stageOf(pane)?.title ?? pane.stage;
        lines.push({ stage: pane.stage, title, key, line, call: state.callIn(pane) });
      }
    }
    return lines.flatMap(({ call, ...lit }) => reasonOf(index, selected, lit, call) ?? []);
  }

  private row(reason: Reason): HTMLElement {
    const { stage, title, key, line, known } = reason;
    const label = make("span", { class: "chain-label" }, `${title} ${line}`);
    const text = make("span", { class: "chain-text" });
    const go = button([label, " ", text], { class: `chain-link known-${known}` }, () => {
      this.root.hidePopover();
      const file = key.startsWith("source:") ? key.slice("source:".length) : null;
      const kernel = stage === "kernel" ? this.host.state.kernel : null;
      void this.host.lead({ stage, key, line, file, kernel, handle: null });
    });
    void this.host
      .lineText(key, line)
      .then((found) => text.append((found ?? "").trim()))
      .catch(() => {}); // the line's number is enough
    const chip = make("span", { class: "chip" }, certainty(known)?.title ?? "unknown");
    const words = make("span", {}, ` ${reason.why.join(" ")}`);
    const why = make("p", {}, chip, words);
    if (reason.others.length) {
      const many = reason.others.length + 1;
      const names = [plain(reason.entity), ...reason.others].slice(0, 6).join(", ");
      why.append(make("b", {}, ` ${many === 2 ? "Two" : many} answers are possible: ${names}.`));
    }
    if (EXPLAINED.has(key) && /^(?:fx|op):/.test(reason.entity)) void this.fill(words, reason);
    return make("li", {}, go, why);
  }

  /** The engine's own sentences, if available, instead of what the links alone say. */
  private async fill(into: HTMLElement, { key, line, entity }: Reason): Promise<void> {
    const { run, graph } = this.host.state.picture;
    const query = new URLSearchParams({ stage: key, line: String(line) });
    const url = `/api/runs/${run.id}/graphs/${encodeURIComponent(graph.slug)}/reason?${query}`;
    const answer = await ask<Reasons>(url).catch(() => null); // then the links' own words must do
    const meant = (answer?.reasons ?? []).filter(
      ({ nodes }) => entity.startsWith("op:") || nodes.includes(entity),
    );
    const sentences = [...new Set(meant.map(({ sentence }) => sentence))].slice(0, SENTENCES);
    if (sentences.length) into.textContent = ` ${sentences.join(" ")}`;
  }
}
