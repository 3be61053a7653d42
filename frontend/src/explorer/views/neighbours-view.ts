// "Why is it not fused?": a kernel's neighbours, what runs between them, and what prevents fusing;
// for a C++ kernel, also why a loop is not vectorised.
import type { FusingPage } from "../../shared/api";
import { button, dialogOf, make } from "../../shared/elements";
import { count } from "../../shared/figures";
import { ask } from "../../shared/server";
import { POST_GRAD } from "../../shared/vocabulary";
import type { Graph } from "../picture/graph";
import { giversOf, type Neighbour, takersOf, whyApart } from "../picture/neighbours";
import type { Kernel } from "../shapes";
import { callOf } from "../state/follow";
import type { ViewHost } from "./host";

/** Most neighbours, and calls between two, that are listed. */
const LISTED = 5;

export class NeighboursView {
  private readonly body = make("div", { class: "neighbours", tabindex: "0" });
  private readonly dialog = dialogOf(
    "neighbours",
    "Why is it not fused with its neighbours?",
    this.body,
  );

  constructor(private readonly host: ViewHost) {}

  async open(kernel: Kernel): Promise<void> {
    const { index, selected, handle } = this.host.state;
    if (!this.dialog.isConnected) document.body.append(this.dialog);
    this.body.replaceChildren(make("p", {}, "Fetching the graph …"));
    this.dialog.showModal();
    const call = callOf(index, selected, kernel, handle) ?? kernel.calls[0];
    const asked = ask<FusingPage>(`/api${this.fusing({ q: kernel.name })}`).catch(() => null);
    const graph = await this.host.pictures.graphOf(POST_GRAD).catch(() => null);
    const at = graph?.groups.findIndex(
      (group) => group.kernel === kernel.name && group.handle === call?.handle,
    );
    if (!graph || at === undefined || at < 0) {
      this.body.replaceChildren(make("p", {}, "The nodes of this call are not known."));
      return;
    }
    const title = graph.groups[at]?.title ?? kernel.name;
    const heading = make("p", {}, `${title}, called in wrapper line ${call?.line}.`);
    const show = (fusing: FusingPage | null) =>
      this.body.replaceChildren(
        heading,
        this.part(graph, at, "Kernels that read its results", takersOf(graph, at), fusing),
        this.part(graph, at, "Kernels that compute its inputs", giversOf(graph, at), fusing),
        this.loops(kernel, fusing),
      );
    show(null);
    const fusing = await asked;
    if (heading.isConnected) show(fusing); // another kernel is shown by now
  }

  private fusing(asked: Record<string, string>): string {
    return `/runs/${this.host.state.picture.run.id}/compile/fusing?${new URLSearchParams(asked)}`;
  }

  private loops(kernel: Kernel, fusing: FusingPage | null): HTMLElement | string {
    const { slug } = this.host.state.picture.graph;
    const rows = fusing?.loops?.rows.filter(
      ({ graph, kernel: name }) => graph === slug && name === kernel.name,
    );
    if (!rows?.length) return "";
    const list = rows.map(({ loops, vectorised, how }) =>
      make(
        "li",
        {},
        `${loops.join(" × ")}: ${vectorised ? "" : "not vectorised, "}${how.replaceAll("`", "")}.`,
      ),
    );
    return make("section", {}, make("h3", {}, "Its loops"), make("ul", {}, ...list));
  }

  private part(
    graph: Graph,
    at: number,
    title: string,
    all: readonly Neighbour[],
    fusing: FusingPage | null,
  ): HTMLElement {
    const part = make("section", {}, make("h3", {}, title));
    if (!all.length) part.append(make("p", { class: "soft" }, "None."));
    const shown = all.slice(0, LISTED);
    const list = make("ul", {}, ...shown.map((one) => this.row(graph, at, one, fusing)));
    if (all.length > LISTED) {
      list.append(make("li", { class: "soft" }, `and ${all.length - LISTED} more`));
    }
    part.append(list);
    return part;
  }

  private row(graph: Graph, at: number, one: Neighbour, fusing: FusingPage | null): HTMLElement {
    const { group, given, values, between } = one;
    const node = graph.nodes[given]?.name ?? "";
    const passes = `${node}${values > 1 ? ` and ${count(values - 1, "more value")}` : ""}`;
    const row = make("li", {}, this.link(graph, group), `: ${passes}. `);
    const two = [at, group].map((each) => graph.groups[each]);
    const names = two.map((each) => each?.kernel).sort();
    const pair = fusing?.unfused.find(
      (each) =>
        each.graph === this.host.state.picture.graph.slug &&
        [each.one.kernel, each.other.kernel].sort().join() === names.join(),
    );
    const why = whyApart(graph, at, group) ?? pair?.reasons.join(" ").replaceAll("`", "");
    if (why) row.append(why, " ");
    else {
      const [a = "", b = ""] = two.map((each) => `${each?.kernel}:${each?.handle}`);
      const href = `${this.fusing({ a, b })}#unfused`;
      row.append(make("a", { href }, "What prevents fusing"), ". ");
    }
    if (!between.length) row.append("Nothing runs between them.");
    else {
      row.append(
        `${count(between.length, "call")} ${between.length === 1 ? "runs" : "run"} between: `,
      );
      between.slice(0, LISTED).forEach((each, nth) => {
        row.append(nth ? ", " : "", this.link(graph, each));
      });
      const more = between.length - LISTED;
      row.append(more > 0 ? ` and ${more} more.` : ".");
    }
    return row;
  }

  /** Goes to the call in the wrapper. */
  private link(graph: Graph, at: number): HTMLElement {
    const group = graph.groups[at];
    const kernel = this.host.state.picture.kernels.find(({ name }) => name === group?.kernel);
    const call = kernel?.calls.find(({ handle }) => handle === group?.handle);
    return button(group?.title ?? "", { class: "link", title: kernel?.name ?? "" }, () => {
      this.dialog.close();
      if (!kernel || !call) return;
      const place = { stage: "wrapper", key: "code", file: null, handle: call.handle };
      void this.host.lead({ ...place, line: call.line, kernel });
    });
  }
}
