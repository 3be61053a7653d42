// The explorer: one state (panes, kernel, selection), kept in the URL, shown by panes and list.

import { afterPaint, whenIdle } from "../shared/frames";
import type { CodeOptions } from "./code/code";
import { fetchHeat, type Heat } from "./code/heat";
import { Comparison } from "./panes/compare";
import { type Entry, entriesOf } from "./panes/compare-menu";
import { Lighting } from "./panes/lighting";
import type { Pane } from "./panes/pane";
import { PaneRow, type RowHost } from "./panes/row";
import { viewsOf } from "./panes/walk-views";
import { Pictures } from "./picture/pictures";
import type { GraphPicture, Kernel } from "./shapes";
import { type Address, type LineTarget, read, type Target, write } from "./state/address";
import type { LinkPlace } from "./state/chain";
import { fileOf } from "./state/content";
import {
  callEntity,
  callOf,
  handleFor,
  kernelAt,
  kernelNamed,
  kernelsOf,
  selectNamed,
} from "./state/follow";
import { EVERY_CALL, type LinkIndex, type Selected } from "./state/links";
import { fold, wrap } from "./state/preferences";
import type { Texts } from "./state/texts";
import type { Stop, View } from "./state/walk";
import { ChainView } from "./views/chain-view";
import { Commands } from "./views/commands";
import { KernelList } from "./views/kernel-list";
import { Palette } from "./views/palette";
import { ReasonsView } from "./views/reasons-view";
import { describeCoverage } from "./views/status";
import { UnmappedView } from "./views/unmapped-view";

/** Lines of files that are fetched before a selection leads to them. */
const MOST_AHEAD = 100_000;
/** When panes light before the text of another one has come. */
const SLOW_MS = 80;

export class Explorer implements RowHost {
  readonly picture: GraphPicture;
  readonly texts: Texts;
  readonly nonce: string;
  private times: Promise<Map<string, Heat>> | null = null;
  readonly options: CodeOptions = { folded: fold.read(), wrapped: wrap.read(), only: false };
  readonly root: HTMLElement;
  readonly index: LinkIndex;
  readonly list: KernelList;
  readonly chain: ChainView;
  readonly reasons: ReasonsView;
  readonly row: PaneRow;
  readonly lighting = new Lighting(this);
  readonly comparison = new Comparison(this);
  readonly pictures = new Pictures(this);
  readonly urls: { nodes: string; layout: string };
  kernel: Kernel | null = null;
  handle: number | null = null;
  target: Target | null = null;
  selected: Selected | null = null;
  hoveredOne: Selected | null = null;
  stop: Stop | null = null;
  trouble: string | null = null;
  /** Settles when the panes show what was last asked for. */
  settled: Promise<unknown> = Promise.resolve();
  /** Whether what may come after the lines that light is still to come. */
  private behind = false;
  private calmed: () => void = () => undefined;
  /** Settles once the panes have been painted: what is not missed before may wait for it. */
  readonly calm = new Promise<void>((done) => {
    this.calmed = done;
  });

  constructor(
    root: HTMLElement,
    picture: GraphPicture,
    index: LinkIndex,
    texts: Texts,
    nonce: string,
  ) {
    this.root = root;
    this.picture = picture;
    this.row = new PaneRow(this);
    this.index = index;
    this.nonce = nonce;
    this.urls = { nodes: root.dataset.nodesUrl ?? "", layout: root.dataset.layoutUrl ?? "" };
    this.texts = texts;
    this.list = new KernelList(this.part(".side"), picture, this.calm, (kernel) =>
      this.chooseKernel(kernel),
    );
    describeCoverage(this.part(".coverage"), picture);
    this.part(".downloads").hidden = !picture.stages.some(
      ({ id, files }) => id === "code" && files.length > 0,
    );
    this.chain = new ChainView(this);
    this.reasons = new ReasonsView(this);
    new Commands(this);
    new Palette(this);
    new UnmappedView(this);
    window.addEventListener("popstate", () => this.restore());
    document.addEventListener("themechange", () => {
      for (const pane of this.panes) pane.redraw();
    });
    this.restore();
    void this.settled.then(() => afterPaint(() => whenIdle(this.calmed)));
    void this.calm.then(() => this.prepare());
  }

  /** Fetch the other files of the panes, so that a selection in one finds its text here. */
  private prepare(): void {
    let lines = 0;
    for (const file of new Set(this.panes.flatMap((pane) => pane.stage?.files ?? []))) {
      lines += file.lines ?? 0;
      if (lines > MOST_AHEAD) break;
      this.texts.of(file.artifact).catch(() => undefined); // asked for again when it is needed
    }
  }

  get panes(): readonly Pane[] {
    return this.row.panes;
  }

  get active(): Pane | null {
    return this.row.active;
  }

  set active(pane: Pane | null) {
    this.row.active = pane;
  }

  part(selector: string): HTMLElement {
    return this.root.querySelector(selector) as HTMLElement;
  }

  // --- state and URL ---------------------------------------------------------------------------

  private restore(): void {
    const stages = this.picture.stages.map((stage) => stage.id);
    const held = this.picture.stages.filter((stage) => stage.files.length > 0);
    const address = read(
      location.search,
      stages,
      held.map((stage) => stage.id),
    );
    this.row.set(address.panes);
    const named = kernelNamed(this.picture, address.kernel);
    const withCode = this.picture.kernels.find((kernel) => kernel.first !== null);
    this.kernel = named ?? withCode ?? this.picture.kernels[0] ?? null;
    this.handle = named ? address.handle : null;
    this.take(address.selected);
    if (address.kernel && !named) {
      this.trouble = `This graph has no kernel ${address.kernel}.`;
    }
    this.comparison.end();
    this.row.showTabs(); // on a narrow screen they say which pane is to be seen
    this.settled = this.refresh(true).then(() => {
      const compared = address.compared === null ? null : this.panes[address.compared];
      if (compared) this.lighting.tellOnce(this.comparison.toggle(compared));
    });
  }

  private address(): Address {
    return {
      panes: this.panes.map((pane) => pane.kept),
      kernel: this.kernel?.name ?? null,
      handle: this.handle,
      selected: this.target,
      compared: this.comparison.at,
    };
  }

  /** Keep the state in the address, once the lines that light are painted: it costs a moment. */
  private push(): void {
    const query = write(this.address()); // of now: more may be chosen before it is painted
    afterPaint(() =>
      whenIdle(() => {
        if (query !== location.search) history.pushState(null, "", query);
      }),
    );
  }

  /** Make a target the selection, and lead kernel, call and file panes to it. */
  private take(target: Target | null): void {
    this.target = target;
    this.selected = null;
    this.stop = null;
    this.trouble = null;
    if (!target) return;
    if ("entity" in target) {
      this.selected = selectNamed(this.index, this.picture, target.entity);
      if (!this.selected) this.trouble = `Nothing in this graph is linked to ${target.entity}.`;
    } else {
      const key = this.keyOf(target);
      const call = key === "code" ? this.call() : EVERY_CALL;
      this.selected = this.index.selectLine(key, target.line, call, target.last);
    }
    if (this.selected) this.follow(this.selected, target);
  }

  keyOf({ stage, file }: { stage: string; file?: string }): string {
    if (stage === "kernel" || stage === "wrapper") return "code";
    return stage === "source" ? this.index.keyNamed(`source:${file ?? this.firstFile()}`) : stage;
  }

  /** The file that a selection in a source means when it names none. */
  private firstFile(): string {
    const pane = this.panes.find((each) => each.address.stage === "source");
    const files = this.picture.stages.find((each) => each.id === "source")?.files ?? [];
    return pane?.address.file ?? files[0]?.path ?? "";
  }

  /** The call that the kernel pane is limited to. */
  call(): number {
    return callEntity(this.index, this.kernel, this.handle);
  }

  private follow(selected: Selected, target: Target): void {
    const code = this.index.matches(selected, "code");
    const computing = kernelsOf(this.picture, code);
    const line = "line" in target && target.stage === "kernel" ? target.line : null;
    const holding = line === null ? null : kernelAt(this.picture, line);
    if (holding) this.setKernel(holding);
    else if (!(this.kernel && computing.includes(this.kernel))) {
      const generated = computing.find((kernel) => kernel.first !== null);
      const wanted = generated ?? computing[0]; // a library's code is nowhere to be shown
      if (wanted) this.setKernel(wanted);
    }
    if (!holding) this.handle = handleFor(this.index, selected, this.kernel, this.handle);
    for (const pane of this.panes) this.followFile(pane, selected, target);
  }

  private setKernel(kernel: Kernel): void {
    if (kernel === this.kernel) return;
    this.kernel = kernel;
    this.handle = null;
  }

  private followFile(pane: Pane, selected: Selected, target: Target): void {
    if (pane.address.stage !== "source") return;
    const files = pane.stage?.files ?? [];
    if ("stage" in target && target.stage === "source") {
      const path = target.file && this.keyOf(target).slice("source:".length);
      const shown = this.panes.some((each) => each.address.file === path);
      const known = files.find((file) => file.path === path);
      if (known && !shown) pane.address.file = known.path;
      return;
    }
    const lights = (path: string) =>
      this.index.matches(selected, `source:${path}`).lines.length > 0;
    const shown = pane.address.file ?? files[0]?.path;
    if (shown && lights(shown)) return;
    const other = files.find((file) => lights(file.path));
    if (other) pane.address.file = other.path;
  }

  // --- what lights -----------------------------------------------------------------------------

  /** What n and p walk through: also kernels and files that panes do not show yet. */
  views(): View[] {
    return this.panes.flatMap((pane) => viewsOf(this, pane));
  }

  /** Show a stop of the walk; the panes keep their selection. */
  async goTo(stop: Stop): Promise<void> {
    this.stop = stop;
    this.hoveredOne = null;
    this.active = stop.pane;
    const led =
      (stop.kernel !== null && stop.kernel !== this.kernel) ||
      (stop.file !== null && stop.file !== stop.pane.address.file);
    if (led) {
      if (stop.kernel) this.setKernel(stop.kernel);
      if (stop.file) stop.pane.address.file = stop.file;
      this.settled = this.refresh(false);
      this.push();
      await this.settled;
      if (this.stop !== stop) return; // walked on meanwhile
    }
    stop.pane.reveal(stop.line);
    stop.pane.placeCaret(stop.line);
    stop.pane.focus();
    this.row.showTabs();
    this.lighting.light();
  }

  /** What a pane can be laid side by side with, on a page of its own. */
  comparable(pane: Pane): Entry[] {
    const links = this.root.querySelectorAll<HTMLElement>(".graph-links a");
    const siblings = Array.from(links, ({ dataset }) => ({
      slug: dataset.slug ?? "",
      direction: dataset.direction ?? "",
    }));
    return entriesOf(this.picture, siblings, pane.address.stage, this.kernel);
  }

  /** Compare a pane with its neighbour, or end it. */
  compared(pane: Pane | null): void {
    this.lighting.tellOnce(this.comparison.toggle(pane));
    this.push();
  }

  /** The kernels that compute the kept line; none when a kernel itself is kept. */
  computing(): Kernel[] {
    if (!this.selected || this.selected.wholeKernel) return [];
    return kernelsOf(this.picture, this.index.matches(this.selected, "code"));
  }

  /** Show a kernel and keep the selection. */
  turnTo(kernel: Kernel): void {
    this.setKernel(kernel);
    this.settled = this.refresh(true);
    this.push();
  }

  /** Show kernel, call, files and lines as the state says. */
  private async refresh(reveal: boolean): Promise<void> {
    const { index, selected, kernel, handle } = this;
    const called = kernel?.first === null ? callOf(index, selected, kernel, handle) : null;
    const shows = this.panes.flatMap((pane) => {
      const coming = pane.show(this.kernel, this.handle, called);
      if (coming && this.comparison.holds(pane)) this.comparison.end(); // of another text
      return coming ?? [];
    });
    if (shows.length) {
      // Texts mostly are here already; where one must come first, the other panes light before.
      const slow = setTimeout(() => this.lighting.light(), SLOW_MS);
      await Promise.all(shows);
      clearTimeout(slow);
    }
    this.lighting.light(reveal);
    if (this.behind) return;
    this.behind = true;
    afterPaint(() => whenIdle(() => this.catchUp()));
  }

  /** What may come after the lines that light are painted: list, tabs and chain. */
  private catchUp(): void {
    this.behind = false;
    const matched = this.computing().map((kernel) => kernel.name);
    this.list.show(this.kernel, new Set(matched));
    this.row.showTabs();
    this.chain.show(this.selected);
  }

  /** The text of one line of a stage or source. */
  async lineText(key: string, line: number): Promise<string | null> {
    return (await this.stageLines(key))[line - 1] ?? null;
  }

  /** All lines of a stage or source; none where there is no such text. */
  async stageLines(key: string): Promise<readonly string[]> {
    const file = fileOf(this.picture, key);
    return file ? await this.texts.lines(file.artifact) : [];
  }

  /** Lead a pane to a link of the chain; the selection stays. */
  async lead({ stage, line, file, kernel, handle }: LinkPlace): Promise<void> {
    const pane = this.row.for(stage);
    if (!pane) return;
    if (file) pane.address.file = file;
    if (kernel) this.setKernel(kernel);
    if (handle !== null) this.handle = handle;
    this.hoveredOne = null;
    this.active = pane;
    this.settled = this.refresh(false);
    this.push();
    await this.settled;
    pane.reveal(line);
    pane.placeCaret(line);
    pane.focus();
  }

  // --- what panes report -------------------------------------------------------------------------

  private selectedBy(pane: Pane, line: number): Selected | null {
    if (pane.content?.kind !== "code") return null;
    const call = pane.address.stage === "kernel" ? this.call() : EVERY_CALL;
    return this.index.selectLine(pane.content.key, line, call);
  }

  hovered(pane: Pane, line: number | null): void {
    const before = this.hoveredOne?.origin;
    const now = line === null ? null : this.selectedBy(pane, line);
    if (before?.key === now?.origin?.key && before?.first === now?.origin?.first) return;
    this.hoveredOne = now?.entities.size ? now : null;
    this.lighting.light();
  }

  /** A picture's node is pointed at. */
  previewed(selected: Selected | null): void {
    if (!selected && !this.hoveredOne) return;
    this.hoveredOne = selected?.entities.size ? selected : null;
    this.lighting.light();
  }

  turned(): void {
    this.push();
  }

  reached(pane: Pane, line: number): void {
    this.hovered(pane, line);
  }

  clicked(pane: Pane, line: number, extend: boolean): void {
    this.pin(pane, line, extend);
  }

  /** Keep a line; or all lines from the kept one to this, when they are of one pane. */
  pin(pane: Pane, line: number, extend = false): void {
    const from = extend ? this.lighting.originIn(pane) : null;
    const [first, last] = [Math.min(from?.first ?? line, line), Math.max(from?.last ?? line, line)];
    this.active = pane;
    const { stage, file } = pane.address;
    const named = stage === "source" && file && file !== this.firstFile();
    const target: LineTarget = { stage, line: first };
    if (last > first) target.last = last;
    if (named) target.file = file;
    this.keep(target);
  }

  /** Make something the selection, as a click on it does. */
  keep(target: Target): void {
    this.hoveredOne = null;
    this.take(target);
    this.settled = this.refresh(true);
    this.push();
  }

  async heatOf(path: string): Promise<Heat> {
    if (this.picture.graph_time_us === null) return new Map();
    await this.calm;
    this.times ??= fetchHeat(this.root.dataset.heatUrl ?? "").catch(() => new Map()); // code reads well without
    return (await this.times).get(path) ?? new Map();
  }

  clear(): void {
    this.hoveredOne = null;
    this.take(null);
    this.settled = this.refresh(false);
    this.push();
  }

  chooseKernel(kernel: Kernel): void {
    this.setKernel(kernel);
    this.hoveredOne = null;
    this.take({ entity: `kernel:${kernel.name}` });
    this.trouble = null;
    this.settled = this.refresh(true);
    this.push();
  }

  chosen(_pane: Pane): void {
    this.settled = this.refresh(true);
    this.push();
  }

  handleChosen(handle: number | null): void {
    this.handle = handle;
    if (this.target && "line" in this.target && this.keyOf(this.target) === "code") {
      const { line, last } = this.target;
      this.selected = this.index.selectLine("code", line, this.call(), last);
    }
    this.settled = this.refresh(false);
    this.push();
  }

  added(after: Pane): void {
    this.comparison.end();
    const pane = this.row.add(after);
    if (!pane) return;
    this.settled = this.refresh(true).then(() => pane.focus());
    this.push();
  }

  closed(pane: Pane): void {
    if (this.comparison.holds(pane)) this.comparison.end();
    if (!this.row.close(pane)) return;
    this.settled = this.refresh(false);
    this.push();
  }

  turnedTo(): void {
    this.lighting.light();
  }

  opened(stage: string, line: number): void {
    const found = this.row.for(stage);
    if (!found) return;
    const shown = found.show(this.kernel, this.handle, null) ?? Promise.resolve();
    this.settled = shown.then(() => this.pin(found, line));
  }

  /** Say what of the run is being read; panes that wait for it show it. */
  readingIs(step: string): void {
    if (this.picture.reading === step) return;
    this.picture.reading = step;
    this.settled = this.refresh(false);
  }
}
