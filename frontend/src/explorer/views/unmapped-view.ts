// The list of what is not explained: a dialog with the reasons; each entry goes to its line.

import { button, cutName, dialogOf, make } from "../../shared/elements";
import { count, thousands } from "../../shared/figures";
import { POST_GRAD } from "../../shared/vocabulary";
import { kernelNamed } from "../state/follow";
import { type Unmapped, unmappedLines, unmappedNodes } from "../state/unmapped";
import type { ViewHost } from "./host";

/** Most rows listed for one reason. */
const LISTED = 100;

export class UnmappedView {
  private dialog: HTMLDialogElement | null = null;

  constructor(private readonly host: ViewHost) {
    const open = button("List what is not, and why", { class: "button small" }, () => {
      void this.open();
    });
    host.part(".coverage").append(open);
  }

  async open(): Promise<void> {
    this.dialog ??= await this.made();
    this.dialog.showModal();
  }

  private async made(): Promise<HTMLDialogElement> {
    const { host } = this;
    const [code, graph] = await Promise.all([
      host.stageLines("code").catch(() => []),
      host.stageLines(POST_GRAD).catch(() => []),
    ]);
    const { index, picture } = host.state;
    const lines = unmappedLines(index, picture, code);
    const nodes = unmappedNodes(index, graph);
    const body = make("div", { class: "unmapped", tabindex: "0" });
    body.append(
      this.part(`${count(lines.length, "line")} of kernels`, lines, "kernel"),
      this.part(count(nodes.length, "FX node"), nodes, POST_GRAD),
    );
    const dialog = dialogOf("unmapped", "What no link explains", body);
    document.body.append(dialog);
    return dialog;
  }

  private part(title: string, all: readonly Unmapped[], stage: string): HTMLElement {
    const part = make("section", {}, make("h3", {}, title));
    if (!all.length) part.append(make("p", { class: "soft" }, "Every one is explained."));
    const byReason = Map.groupBy(all, ({ reason }) =>
      reason.replace(/^The line is \S+;/, "The operation is known;"),
    );
    const groups = [...byReason].sort((one, other) => other[1].length - one[1].length);
    for (const [reason, rows] of groups) {
      const list = make("ul", {}, ...rows.slice(0, LISTED).map((row) => this.row(row, stage)));
      const more = rows.length - LISTED;
      if (more > 0) list.append(make("li", { class: "soft" }, `and ${more} more`));
      const summary = make("summary", {}, `${thousands(rows.length)} · ${reason}`);
      part.append(make("details", {}, summary, list));
    }
    return part;
  }

  private row(one: Unmapped, stage: string): HTMLElement {
    const label = [
      make("span", { class: "chain-label num" }, String(one.line)),
      " ",
      make("span", { class: "chain-text" }, one.text),
      stage === "kernel" ? cutName(one.where) : null,
    ];
    const entry = button(label, { class: "chain-link", title: one.text }, () => {
      this.dialog?.close();
      const kernel = stage === "kernel" ? kernelNamed(this.host.state.picture, one.where) : null;
      const key = stage === "kernel" ? "code" : stage;
      void this.host.lead({ stage, key, line: one.line, file: null, kernel, handle: null });
    });
    return make("li", {}, entry);
  }
}
