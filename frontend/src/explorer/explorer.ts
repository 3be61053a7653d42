// The explorer: ties the state to the address, the panes and the views around them.
//
// A click on a line goes this way:
//   1. `code/code.ts` finds the line under the pointer and reports it to its pane;
//   2. the pane reports it here, to `clicked`;
//   3. `select` has the state work out what the line refers to, which lines light, and which kernel, call
//      and files the panes turn to (`state/state.ts`);
//   4. `show` lets each pane fetch the text that it is to show now;
//   5. `PaneRow.light` lights the lines and scrolls each pane to its first one;
//   6. the status line, then list, tabs and chain follow.

import { afterPaint, whenIdle } from "../shared/frames";
import type { CodeOptions } from "./code/code";
import { fetchHeat, type Heat, type WarmthOf, warmthOfTimes } from "./code/heat";
import { Compiled } from "./kernels/compiled";
import { KernelFigures } from "./kernels/figures";
import { Comparison } from "./panes/compare";
import { type Entry, entriesOf } from "./panes/compare-menu";
import type { Pane } from "./panes/pane";
import { PaneRow } from "./panes/row";
import { Pictures } from "./picture/pictures";
import type { GraphPicture, Kernel } from "./shapes";
import { arrangement, type PaneAddress, read, type Target, write } from "./state/address";
import type { LinkPlace } from "./state/chain";
import type { CompileError } from "./state/compile-errors";
import { type CodeContent, fileOf } from "./state/content";
import type { LinkIndex, Selected } from "./state/links";
import { openingTarget } from "./state/opening";
import { colours, fold, panes, wrap } from "./state/preferences";
import { ExplorerState } from "./state/state";
import type { Texts } from "./state/texts";
import { Tints } from "./state/tints";
import type { Stop } from "./state/walk";
import { ChainView } from "./views/chain-view";
import { describeCoverage } from "./views/coverage";
import { elsewhere } from "./views/elsewhere";
import type { ViewHost } from "./views/host";
import { KernelList } from "./views/kernel-list";
import { NeighboursView } from "./views/neighbours-view";
import { ReasonsView } from "./views/reasons-view";
import { StatusLine } from "./views/status";
import { StepsView } from "./views/steps-view";

/** How long a kernel must be shown before its figures are requested. */
const RESTING_MS = 400;

export class Explorer implements ViewHost {
  readonly options: CodeOptions = { folded: fold.read(), wrapped: wrap.read(), only: false };
  readonly nodesUrl: string;
  readonly compiled: Compiled;
  readonly state: ExplorerState;
  readonly row: PaneRow;
  readonly tints: Tints;
  readonly figures: KernelFigures;
  readonly pictures = new Pictures(this);
  readonly neighbours = new NeighboursView(this);
  readonly list: KernelList;
  readonly chain: ChainView;
  readonly reasons: ReasonsView;
  readonly status: StatusLine;
  readonly steps: StepsView;
  private readonly comparison: Comparison;
  /** Text by file, as far as it is loaded. */
  private heat: Map<string, Heat> = new Map();
  private times: Promise<Map<string, Heat>> | null = null;
  /** Settles when the panes show what was last requested. */
  settled: Promise<unknown> = Promise.resolve();
  /** Whether an update of the list, the tabs and the chain is scheduled. */
  private following = false;
  private resting = 0;
  private readonly closing = new AbortController();
  /** Aborted when another explorer replaces this one. */
  readonly ended = this.closing.signal;
  /** Called when other lines are highlighted. */
  onLight: () => void = () => {};

  constructor(
    readonly root: HTMLElement,
    readonly picture: GraphPicture,
    readonly index: LinkIndex,
    readonly texts: Texts,
    readonly errors: readonly CompileError[],
  ) {
    this.nodesUrl = root.dataset.nodesUrl ?? "";
    this.compiled = new Compiled(root.dataset.machineUrl ?? "", index);
    this.state = new ExplorerState(picture, index);
    const sources = picture.stages.find(({ id }) => id === "source")?.files ?? [];
    this.tints = new Tints(
      index,
      sources.map(({ path }) => path),
    );
    this.figures = new KernelFigures(root.dataset.kernelsUrl ?? "");
    this.showColours(colours.read());
    this.row = new PaneRow(this);
    this.comparison = new Comparison(this.row, this.state, this.options);
    this.list = new KernelList(this);
    this.chain = new ChainView(this);
    this.reasons = new ReasonsView(this);
    this.steps = new StepsView(this);
    this.status = new StatusLine(this.part(".what"), this.state, (selected) =>
      this.elsewhere(selected),
    );
    describeCoverage(this.part(".coverage"), picture);
    for (const { slug } of picture.instances) {
      const link = this.linkTo(slug);
      if (link) link.hidden = slug !== picture.graph.slug; // the list of instances has the others
    }
    const hasCode = picture.stages.some(({ id, files }) => id === "code" && files.length > 0);
    const downloads = root.querySelector<HTMLElement>(".downloads"); // not there without code
    if (downloads) downloads.hidden = !hasCode;
    const { ended: signal } = this;
    window.addEventListener("popstate", () => this.restore(), { signal });
    document.addEventListener("share", () => this.keepMiddles(), { signal });
    document.addEventListener(
      "themechange",
      () => {
        for (const pane of this.row.panes) pane.redraw();
      },
      { signal },
    );
    this.restore();
  }

  /** Detaches from the page, so that another explorer can take over. */
  close(): void {
    this.closing.abort();
    for (const pane of this.row.panes) pane.close();
  }

  part(selector: string): HTMLElement {
    return this.root.querySelector(selector) as HTMLElement;
  }

  // --- state and address -------------------------------------------------------------------------

  private restore(): void {
    const stages = this.picture.stages.map(({ id }) => id);
    const held = this.picture.stages.filter(({ files }) => files.length > 0).map(({ id }) => id);
    // A page that shows more than the explorer says what it opens on.
    const query = location.search || (this.root.dataset.opens ?? "");
    const address = read(query, stages, held, panes.read());
    // If the address selects nothing, choose something; then write it into the address.
    const opening = query === "" ? openingTarget(this.picture, this.index, this.errors) : null;
    if (opening) address.selected = opening;
    this.state.restore(address);
    if (opening) history.replaceState(null, "", write(this.state.address(null)));
    this.comparison.end();
    this.settled = this.show(true).then(async () => {
      const compared = address.compared === null ? null : this.row.panes[address.compared];
      if (compared) this.status.sayOnce(await this.comparison.toggle(compared));
    });
  }

  /** Keep the state in the address. */
  push(): void {
    const query = write(this.state.address(this.comparison.at));
    if (query !== location.search) history.pushState(null, "", query);
  }

  /** Keep the line in the middle of each pane in the address, until something changes. */
  private keepMiddles(): void {
    for (const pane of this.row.panes) pane.address.middle = pane.code?.middleLine();
    history.replaceState(null, "", write(this.state.address(this.comparison.at)));
  }

  private forgetMiddles(): void {
    for (const pane of this.state.panes) pane.middle = undefined;
  }

  arranged(): void {
    this.forgetMiddles();
    // A page that shows more than the explorer has its own panes.
    if (!this.root.dataset.opens) panes.write(arrangement(this.state.panes));
    history.replaceState(null, "", write(this.state.address(this.comparison.at)));
  }

  /** Show the state; `reveal` scrolls each pane to its highlighted lines. */
  private async show(reveal: boolean): Promise<void> {
    this.row.arrange();
    const fetched = this.row.panes.flatMap((pane) => {
      const shown = pane.show();
      if (shown && this.comparison.holds(pane)) this.comparison.end(); // the text has changed
      return shown ?? [];
    });
    if (fetched.length) {
      // Most texts are already here. If one must be loaded first, the other panes are highlighted
      // before.
      const slow = setTimeout(() => this.light(reveal));
      await Promise.all(fetched);
      clearTimeout(slow);
    }
    this.light(reveal);
    if (this.following) return;
    this.following = true;
    afterPaint(() => whenIdle(() => this.follow()));
  }

  /** Turn the colours of source lines in all panes on or off. */
  showColours(shown: boolean): void {
    this.root.classList.toggle("coloured", shown);
    colours.write(shown);
  }

  light(reveal = false): void {
    this.root.classList.toggle("kept", this.state.selected !== null);
    this.row.light(reveal);
    this.status.show();
    this.onLight();
  }

  /** Update list, tabs and chain after the highlighted lines are painted. */
  private follow(): void {
    this.following = false;
    const { kernel, computing, selected, instance } = this.state;
    this.list.show(kernel, new Set(computing.map(({ name }) => name)));
    this.list.showInstance(instance);
    this.row.showTabs();
    this.chain.show(selected);
    this.steps.show();
    clearTimeout(this.resting);
    this.resting = window.setTimeout(() => {
      for (const pane of this.row.panes) {
        if (pane.address.stage === "kernel") void pane.kernelMenu.show();
      }
    }, RESTING_MS);
  }

  private change(reveal: boolean): void {
    this.forgetMiddles();
    this.settled = this.show(reveal);
    this.push();
  }

  // --- selecting ---------------------------------------------------------------------------------

  /** Select something, as a click does. */
  select(target: Target | null): void {
    this.state.hovered = null;
    this.state.select(target);
    this.change(target !== null);
  }

  /** Select a line, or all lines from the selected one to it. */
  pin(pane: Pane, line: number, extend = false): void {
    this.row.active = pane;
    this.select(this.state.targetAt(pane.address, line, extend));
  }

  chooseKernel(kernel: Kernel): void {
    this.state.showKernel(kernel);
    this.state.hovered = null;
    this.state.select({ entity: `kernel:${kernel.name}` });
    this.state.trouble = null; // a kernel without links can still be shown
    this.change(true);
  }

  /** Show a kernel and keep the selection. */
  turnTo(kernel: Kernel): void {
    this.state.showKernel(kernel);
    this.change(true);
  }

  /** Show a stop of the walk. The selection stays. */
  async goTo(stop: Stop): Promise<void> {
    const turns = !this.state.shows(stop);
    this.state.walkTo(stop);
    if (turns) {
      this.change(false);
      await this.settled;
      if (this.state.stop !== stop) return; // the reader has moved on
    }
    this.reach(stop.pane, stop.line);
    this.row.showTabs();
    this.light();
  }

  /** Scroll a pane to a line, as a link of the chain does. The selection stays. */
  async lead({ stage, line, file, kernel, handle }: LinkPlace): Promise<void> {
    const pane = this.state.paneFor(stage);
    if (!pane) return;
    if (file) pane.file = file;
    if (kernel) this.state.showKernel(kernel);
    if (handle !== null) this.state.handle = handle;
    this.state.hovered = null;
    this.change(false);
    await this.settled;
    this.reach(pane, line);
  }

  /** Scroll to a line and put the caret there. */
  private reach(address: PaneAddress, line: number): void {
    const pane = this.row.at(address);
    if (!pane) return;
    this.row.active = pane;
    pane.code?.reveal(line);
    pane.code?.placeCaret(line);
    pane.focus();
  }

  // --- texts and times ---------------------------------------------------------------------------

  /** The text of one line of a stage or source. */
  async lineText(key: string, line: number): Promise<string | null> {
    return (await this.stageLines(key))[line - 1] ?? null;
  }

  /** All lines of a stage or source; none if there is no such text. */
  async stageLines(key: string): Promise<readonly string[]> {
    if (this.compiled.has(key)) return (await this.compiled.of(key)).text.split("\n");
    const file = fileOf(this.picture, key);
    return file ? await this.texts.lines(file.artifact) : [];
  }

  async warmthOf({ file, key }: CodeContent): Promise<WarmthOf> {
    if (file.kernel) return this.compiled.warmth(key);
    const { kernel } = this.state;
    if (key === "code")
      return (kernel && this.compiled.warmthOfKernel(kernel.name)) ?? (() => null);
    return warmthOfTimes(await this.heatOf(file.path));
  }

  /** Add a compiled text of a kernel; its lines are highlighted from now on. */
  async compiledText(key: string): Promise<string> {
    const isNew = !this.compiled.has(key);
    const { text } = await this.compiled.of(key);
    if (isNew) {
      this.state.came(key);
      for (const pane of this.row.panes) if (pane.address.stage === "kernel") void pane.warm();
    }
    return text;
  }

  private async heatOf(path: string): Promise<Heat> {
    if (this.picture.graph_time_us === null) return new Map();
    // A failure is ignored: code is readable without times.
    this.times ??= fetchHeat(this.root.dataset.heatUrl ?? "").catch(() => new Map());
    const first = !this.heat.size;
    this.heat = await this.times;
    if (first) this.status.show();
    return this.heat.get(path) ?? new Map();
  }

  /** The cost of a selected source line in other graphs. */
  private elsewhere({ origin }: Selected): HTMLElement | null {
    const path = /^source:(.+)/.exec(origin?.key ?? "")?.[1];
    const time = path && origin ? this.heat.get(path)?.get(origin.first) : null;
    if (!time || origin?.first !== origin?.last) return null;
    const select = encodeURI(`source:${path}:${origin?.first}`);
    return elsewhere(this.graphLinks, this.picture.graph.slug, time, select);
  }

  // --- events of panes ---------------------------------------------------------------------------

  hovered(pane: Pane, line: number | null): void {
    if (this.state.point(pane.address, line)) this.light();
  }

  named(name: string): void {
    for (const pane of this.row.panes) pane.code?.name(name);
  }

  /** The pointer is on a node of a picture. */
  previewed(selected: Selected | null): void {
    if (this.state.preview(selected)) this.light();
  }

  chosen(pane: Pane, stage: string, file: string | null): void {
    Object.assign(pane.address, { stage, file });
    this.change(true);
    this.arranged();
  }

  handleChosen(handle: number | null): void {
    this.state.showCall(handle);
    this.change(false);
  }

  /** Show the times of one instance of a region, from 1, or of all. An equal graph has an explorer
   * of its own, which opens with the same selection. */
  instanceChosen(instance: number | null): void {
    this.state.instance = instance;
    const { instances, graph } = this.picture;
    const slug = instances[(instance ?? 0) - 1]?.slug ?? graph.slug;
    const link = slug === graph.slug ? undefined : this.linkTo(slug);
    const query = write(this.state.address(this.comparison.at));
    if (link)
      location.assign(link.search ? `${link.href}&${query.slice(1)}` : link.pathname + query);
    else this.change(false);
  }

  /** The links to the graphs of the run. */
  private get graphLinks(): HTMLAnchorElement[] {
    return [...this.root.querySelectorAll<HTMLAnchorElement>(".graph-links a")];
  }

  private linkTo(slug: string): HTMLAnchorElement | undefined {
    return this.graphLinks.find(({ dataset }) => dataset.slug === slug);
  }

  added(after: Pane | null): void {
    this.comparison.end();
    const address = after && this.state.addPane(after.address);
    if (!address) return;
    this.change(true);
    this.arranged();
    const pane = this.row.at(address);
    this.row.active = pane;
    void this.settled.then(() => pane?.focus());
  }

  /** Show these stages, one in each pane, and what differs between them. */
  async showStages(stages: readonly string[], compares = false): Promise<void> {
    this.comparison.end();
    const panes = stages.map((stage) => ({ stage, file: null, hops: 0 }));
    this.state.panes = panes;
    this.settled = this.show(true);
    if (!compares) {
      this.push();
      this.arranged();
      return;
    }
    await this.settled;
    if (this.state.panes !== panes) return; // the reader has moved on
    const [left, right] = this.row.panes;
    this.row.active = right ?? left ?? null;
    this.row.showTabs();
    const said = left && right ? this.comparison.begin(left, right, true) : null;
    this.push();
    this.status.sayOnce(await said);
  }

  closed(pane: Pane | null): void {
    if (pane && this.comparison.holds(pane)) this.comparison.end();
    const left = pane && this.state.closePane(pane.address);
    if (!left) return;
    this.change(false);
    this.arranged();
    this.row.active = this.row.at(left);
    this.row.active?.focus();
  }

  // --- comparing ---------------------------------------------------------------------------------

  /** The pages with which a pane can be compared. */
  comparable(pane: Pane): Entry[] {
    const siblings = this.graphLinks.map(({ dataset }) => ({
      slug: dataset.slug ?? "",
      direction: dataset.direction ?? "",
    }));
    const { state, picture } = this;
    const { stage } = pane.address;
    // A comment refers to all the nodes below it.
    const isCode = (each: number) => !/^\s*(#|\/\/)/.test(pane.code?.text(each) ?? "");
    const lit = [...state.matchesIn(pane.address, state.selected).lines].find(isCode) ?? null;
    const line = stage === "source" ? null : (state.originIn(pane.address)?.first ?? lit);
    return entriesOf(picture, siblings, stage, state.kernel, line);
  }

  /** Compare a pane with its neighbour, or stop comparing. */
  compared(pane: Pane | null): void {
    void this.comparison.toggle(pane).then((said) => this.status.sayOnce(said));
    this.push();
  }

  // --- a run that is still being read ------------------------------------------------------------

  /** Say which step of reading the run has reached; panes that wait for it show it. */
  readingIs(step: string): void {
    if (this.picture.reading === step) return;
    this.picture.reading = step;
    this.settled = this.show(false);
  }
}
