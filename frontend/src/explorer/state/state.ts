// The explorer's state: its panes, the kernel and call, the selection and what the pointer is on.
// Pure: no document, no network.

import { isCompiled } from "../../shared/naming";
import { IR_POST, KERNEL, POST_GRAD, WRAPPER } from "../../shared/vocabulary";
import type { GraphPicture, Kernel, Stage } from "../shapes";
import type { Address, LineTarget, PaneAddress, Target } from "./address";
import { type Content, compiledKey, contentOf } from "./content";
import {
  callEntity,
  callOf,
  handleFor,
  kernelAt,
  kernelNamed,
  kernelsOf,
  linesOfKernel,
  selectNamed,
  spentIn,
  timesOfInstances,
} from "./follow";
import {
  EVERY_CALL,
  type LinkIndex,
  type Matches,
  NO_MATCHES,
  type Range,
  type Selected,
  within,
} from "./links";
import { type Marks, NO_MARKS } from "./marks";
import type { Stop, View } from "./walk";

/** Panes side by side; beyond this, a new one replaces another. */
const MOST_PANES = 4;
/** The stages whose pane another stage may replace, the first choice first. */
const SPARE = [KERNEL, IR_POST, WRAPPER, POST_GRAD];

export class ExplorerState {
  panes: PaneAddress[] = [];
  kernel: Kernel | null = null;
  /** Handle of the call that kernel panes are limited to; null for every call. */
  handle: number | null = null;
  /** The instance of a region that times are of, from 1; null for all of them. */
  instance: number | null = null;
  target: Target | null = null;
  selected: Selected | null = null;
  /** The kernels that compute the selection; none if a kernel itself is selected. */
  computing: readonly Kernel[] = [];
  hovered: Selected | null = null;
  /** The current stop of the walk with n and p. */
  stop: Stop | null = null;
  /** Why an address or a key has nothing to show. */
  trouble: string | null = null;

  /** The times of the instances that can be chosen, as far as they are known. */
  readonly instances: readonly (number | null)[];

  constructor(
    readonly picture: GraphPicture,
    readonly index: LinkIndex,
  ) {
    const times = timesOfInstances(picture.kernels.flatMap(({ calls }) => calls));
    this.instances = times.length ? times : picture.instances.map(() => null);
  }

  // --- the address of the page -------------------------------------------------------------------

  /** Read the state from an address. */
  restore(address: Address): void {
    if (!this.hasPanes(address.panes)) this.panes = address.panes;
    const named = kernelNamed(this.picture, address.kernel);
    this.kernel = named;
    this.handle = named ? address.handle : null;
    this.instance = (address.instance ?? 0) > this.instances.length ? null : address.instance;
    this.hovered = null;
    this.select(address.selected);
    const { kernels } = this.picture;
    this.kernel ??= kernels.find(({ first }) => first !== null) ?? kernels[0] ?? null;
    if (address.kernel && !named) this.trouble = `This graph has no kernel ${address.kernel}.`;
  }

  address(compared: number | null): Address {
    const { panes, handle, target, instance } = this;
    const kernel = this.kernel?.name ?? null;
    return { panes, kernel, handle, selected: target, instance, compared };
  }

  // --- panes -------------------------------------------------------------------------------------

  private hasPanes(addresses: readonly PaneAddress[]): boolean {
    return (
      addresses.length === this.panes.length &&
      addresses.every(({ stage, file, hops }, at) => {
        const now = this.panes[at];
        return now?.stage === stage && now.hops === hops && (file === null || now.file === file);
      })
    );
  }

  stageOf({ stage }: PaneAddress): Stage | null {
    return this.picture.stages.find((each) => each.id === stage) ?? null;
  }

  /** The content of a pane. */
  content(pane: PaneAddress): Content {
    const { picture, index, selected, kernel, handle } = this;
    const called = kernel?.first === null ? callOf(index, selected, kernel, handle) : null;
    return contentOf(picture, pane, kernel, called);
  }

  /** Add a pane next to another, with a stage that no pane shows yet. */
  addPane(after: PaneAddress): PaneAddress | null {
    const shown = new Set(this.panes.map((pane) => pane.stage));
    const stages = this.picture.stages.filter((stage) => stage.files.length > 0);
    const next = stages.find((stage) => !shown.has(stage.id)) ?? stages[0];
    if (!next) return null;
    const pane = { stage: next.id, file: null, hops: 0 };
    this.panes.splice(this.panes.indexOf(after) + 1, 0, pane);
    return pane;
  }

  /** Close a pane; the last one stays. Returns the pane to its left. */
  closePane(pane: PaneAddress): PaneAddress | null {
    if (this.panes.length < 2) return null;
    const at = this.panes.indexOf(pane);
    this.panes.splice(at, 1);
    return this.panes[Math.max(0, at - 1)] ?? null;
  }

  /** The pane of a stage: the one that shows it, a new one, or another that is switched to it. */
  paneFor(stage: string): PaneAddress | null {
    const of = (id: string) => this.panes.find((pane) => pane.stage === id);
    const shown = of(stage);
    if (shown) return shown;
    if (this.panes.length < MOST_PANES) {
      const order = this.picture.stages.map(({ id }) => id);
      const place = order.includes(stage) ? order.indexOf(stage) : order.length;
      const later = this.panes.findIndex((pane) => order.indexOf(pane.stage) > place);
      const pane = { stage, file: null, hops: 0 };
      this.panes.splice(later < 0 ? this.panes.length : later, 0, pane);
      return pane;
    }
    const spare = SPARE.filter((each) => each !== stage).map(of);
    const pane = spare.find((each) => each !== undefined) ?? this.panes[0] ?? null;
    if (pane) pane.stage = stage;
    return pane;
  }

  // --- the selection -----------------------------------------------------------------------------

  /** Select a target, and switch kernel, call and files to those it leads to. */
  select(target: Target | null): void {
    this.target = target;
    this.selected = null;
    this.stop = null;
    this.trouble = null;
    if (target && "entity" in target) {
      this.selected = selectNamed(this.index, this.picture, target.entity);
      if (!this.selected) this.trouble = `Nothing in this graph is linked to ${target.entity}.`;
    } else if (target) {
      this.selected = this.lines(target);
    }
    if (this.selected && target) this.follow(this.selected, target);
    this.computing =
      this.selected && !this.selected.wholeKernel ? this.kernelsOf(this.selected) : [];
  }

  /** Everything that lines of a pane refer to. */
  private lines(target: LineTarget): Selected {
    const key = this.keyOf(target);
    const call = key === "code" || isCompiled(target.stage) ? this.call : EVERY_CALL;
    return this.index.selectLine(key, target.line, call, target.last);
  }

  /** A text has arrived whose links were not known before. */
  came(key: string): void {
    const { target } = this;
    if (target && "stage" in target && this.keyOf(target) === key) this.select(target);
  }

  /** Point at a line of a pane. Returns whether that changes the highlighted lines. */
  point(pane: PaneAddress, line: number | null): boolean {
    const before = this.hovered?.origin;
    const content = this.content(pane);
    let now: Selected | null = null;
    if (line !== null && content.kind === "code") {
      now = this.index.selectLine(content.key, line, this.callIn(pane));
    }
    if (before?.key === now?.origin?.key && before?.first === now?.origin?.first) return false;
    return this.preview(now);
  }

  /** Highlight a selection in addition to the current one. Returns whether that changes
   * anything. */
  preview(selected: Selected | null): boolean {
    if (!selected && !this.hovered) return false;
    this.hovered = selected?.entities.size ? selected : null;
    return true;
  }

  /** The target of a click on a line; with `extend`, all lines from the selected one to it. */
  targetAt(pane: PaneAddress, line: number, extend: boolean): LineTarget {
    const from = extend ? this.originIn(pane) : null;
    const [first, last] = [Math.min(from?.first ?? line, line), Math.max(from?.last ?? line, line)];
    const { stage, file } = pane;
    const target: LineTarget = { stage, line: first };
    if (last > first) target.last = last;
    if (stage === "source" && file && file !== this.firstFile()) target.file = file;
    return target;
  }

  showKernel(kernel: Kernel): void {
    if (kernel === this.kernel) return;
    this.kernel = kernel;
    this.handle = null;
  }

  showCall(handle: number | null): void {
    this.handle = handle;
    const { target } = this;
    if (!target || "entity" in target || this.keyOf(target) !== "code") return;
    this.selected = this.lines(target);
    this.computing = this.kernelsOf(this.selected);
  }

  /** The entity of the call that kernel panes are limited to. */
  private get call(): number {
    return callEntity(this.index, this.kernel, this.handle);
  }

  /** The call that links in a pane are limited to. */
  callIn(pane: PaneAddress): number {
    return pane.stage === "kernel" || isCompiled(pane.stage) ? this.call : EVERY_CALL;
  }

  /** The key of a pane's lines in the links. */
  private keyOf({ stage, file }: { stage: string; file?: string }): string {
    if (stage === "kernel" || stage === "wrapper") return "code";
    if (isCompiled(stage)) return compiledKey(stage, this.kernel?.name ?? "");
    return stage === "source" ? this.index.keyNamed(`source:${file ?? this.firstFile()}`) : stage;
  }

  /** The file of a selection in a source that names none. */
  private firstFile(): string {
    const pane = this.panes.find((each) => each.stage === "source");
    const files = this.picture.stages.find((each) => each.id === "source")?.files ?? [];
    return pane?.file ?? files[0]?.path ?? "";
  }

  /** The kernels that compute a selection. */
  kernelsOf(selected: Selected): Kernel[] {
    return kernelsOf(this.picture, this.index.matches(selected, "code"));
  }

  private follow(selected: Selected, target: Target): void {
    const computing = this.kernelsOf(selected);
    const line = "line" in target && target.stage === "kernel" ? target.line : null;
    const holding = line === null ? null : kernelAt(this.picture.kernels, line);
    if (holding) this.showKernel(holding);
    else if (!(this.kernel && computing.includes(this.kernel))) {
      // The most expensive kernel whose operations are highlighted or whose call computes the
      // selection; at first, and without times, one that has code; a kernel that only names the
      // selection in a comment comes last.
      const code = this.index.matches(selected, "code");
      const isComputed = (kernel: Kernel) =>
        kernel.first === null ||
        linesOfKernel(code, kernel).lines.some(
          (line) => this.index.namesAt("code", line, line, "op:").length > 0,
        );
      const computed = computing.filter(isComputed);
      // Lines that are not yet aligned name no operations.
      const named = this.picture.aligning ? computing : computed;
      const generated = named.filter(({ first }) => first !== null);
      const among = this.kernel === null && generated.length ? generated : computed;
      const [dearest] = spentIn(this.index, selected, among, code).sort(
        (one, other) => other.us - one.us,
      );
      const wanted = dearest?.kernel ?? generated[0] ?? computed[0] ?? computing[0];
      if (wanted) this.showKernel(wanted);
    }
    if (!holding) this.handle = handleFor(this.index, selected, this.kernel, this.handle);
    for (const pane of this.panes) this.followFile(pane, selected, target);
  }

  private followFile(pane: PaneAddress, selected: Selected, target: Target): void {
    if (pane.stage !== "source") return;
    const files = this.stageOf(pane)?.files ?? [];
    if ("stage" in target && target.stage === "source") {
      const path = target.file && this.keyOf(target).slice("source:".length);
      const shown = this.panes.some((each) => each.file === path);
      const known = files.find((file) => file.path === path);
      if (known && !shown) pane.file = known.path;
      return;
    }
    const lights = (path: string) =>
      this.index.matches(selected, `source:${path}`).lines.length > 0;
    const shown = pane.file ?? files[0]?.path;
    if (shown && lights(shown)) return;
    const other = files.find((file) => lights(file.path));
    if (other) pane.file = other.path;
  }

  // --- highlighting ------------------------------------------------------------------------------

  /** Lines of a pane that a selection highlights; in a kernel pane, those of the chosen call. */
  matchesIn(pane: PaneAddress, selected: Selected | null): Matches {
    const content = this.content(pane);
    if (!selected || content.kind !== "code") return NO_MATCHES;
    // All lines of a selected kernel belong to it, so highlighting each would say nothing.
    const isWhole = selected.wholeKernel && this.kernel?.first !== null;
    if (isWhole && (pane.stage === "kernel" || isCompiled(pane.stage))) return NO_MATCHES;
    const matches = this.index.matches(selected, content.key, this.callIn(pane));
    return within(matches, content.first, content.last);
  }

  /** The selected lines themselves, if a pane shows them. */
  originIn(pane: PaneAddress): Range | null {
    const { target } = this;
    const content = this.content(pane);
    if (!target || "entity" in target || content.kind !== "code") return null;
    if (this.keyOf(target) !== content.key) return null;
    return { first: target.line, last: target.last ?? target.line };
  }

  marksIn(pane: PaneAddress): Marks {
    const origin = this.originIn(pane);
    if (!this.selected && !this.hovered && origin === null) return NO_MARKS;
    return {
      pinned: this.matchesIn(pane, this.selected),
      hovered: this.matchesIn(pane, this.hovered),
      origin,
      current: this.stop?.pane === pane ? this.stop.line : null,
    };
  }

  // --- the walk ----------------------------------------------------------------------------------

  /** The stops of n and p, including kernels and files that panes do not show yet. */
  views(): View[] {
    const { selected } = this;
    return selected ? this.viewsOf(selected, this.computing) : [];
  }

  /** Lines that n and p would step through if this selection were made. */
  countMatches(selected: Selected, computing: readonly Kernel[]): number {
    const views = this.viewsOf(selected, computing);
    return views.reduce((sum, { matches, origin }) => {
      const own = origin ? within(matches, origin.first, origin.last).lines.length : 0;
      return sum + matches.lines.length - own;
    }, 0);
  }

  private viewsOf(selected: Selected, computing: readonly Kernel[]): View[] {
    return this.panes.flatMap((pane) => this.viewsIn(pane, selected, computing));
  }

  /** A kernel pane has a view for each kernel that computes the selection, a source pane one for
   * each file. */
  private viewsIn(pane: PaneAddress, selected: Selected, computing: readonly Kernel[]): View[] {
    const { index } = this;
    const originOf = (key: string) => (selected.origin?.key === key ? selected.origin : null);
    if (pane.stage === "kernel" && !selected.wholeKernel) {
      const [every, chosen] = [EVERY_CALL, this.call].map((call) =>
        index.matches(selected, "code", call),
      );
      return computing.flatMap((kernel) => {
        const all = (kernel === this.kernel ? chosen : every) ?? NO_MATCHES;
        if (kernel.first === null) return [];
        const matches = linesOfKernel(all, kernel);
        return [{ pane, kernel, file: null, matches, origin: originOf("code") }];
      });
    }
    const files = pane.stage === "source" ? (this.stageOf(pane)?.files ?? []) : [];
    if (files.length < 2) {
      const content = this.content(pane);
      const origin = content.kind === "code" ? originOf(content.key) : null;
      return [{ pane, kernel: null, file: null, matches: this.matchesIn(pane, selected), origin }];
    }
    return files.map(({ path }) => ({
      pane,
      kernel: null,
      file: path,
      matches: index.matches(selected, `source:${path}`),
      origin: originOf(`source:${path}`),
    }));
  }

  /** Whether a stop is in the kernel and file that its pane shows now. */
  shows({ kernel, file, pane }: Stop): boolean {
    return (kernel === null || kernel === this.kernel) && (file === null || file === pane.file);
  }

  /** Move to a stop. The selection stays. */
  walkTo(stop: Stop): void {
    this.stop = stop;
    this.hovered = null;
    if (stop.kernel) this.showKernel(stop.kernel);
    if (stop.file) stop.pane.file = stop.file;
  }
}
