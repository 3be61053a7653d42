// Entry of the timeline page: a window of a trace on a canvas, with the selected event next to it.
import type { Matches, Selected, TimelinePage, Track } from "../shared/api";
import { make } from "../shared/elements";
import { count, microseconds, share } from "../shared/figures";
import { type Key, key, offerKeys } from "../shared/keys";
import { categoryTitle } from "../shared/naming";
import { ask, askText, sentenceOf } from "../shared/server";
import type { Bar } from "./bars";
import { type Acts, listen } from "./input";
import { laneAt, laneOut, rowAt, TITLE } from "./lanes";
import { Loader } from "./loading";
import { Painter, RULER, type Scene } from "./paint";
import { around, exact, inside, length, panned, showing, type View, zoomed } from "./view";

const SETTLED_MS = 250;
const HIT_PIXELS = 3;
const NEVER = -1;
const NANOSECOND = 0.001;

const part = <Kind extends HTMLElement = HTMLElement>(name: string) =>
  document.querySelector(`#timeline [data-part="${name}"]`) as Kind;

class Timeline implements Acts {
  private readonly canvas = part<HTMLCanvasElement>("canvas");
  private readonly frame = part("frame");
  private readonly room = part("room");
  private readonly tip = part("tip");
  private readonly status = part("status");
  private readonly panels = document.querySelector("#timeline-panels") as HTMLElement;
  private readonly search = part<HTMLInputElement>("search");
  private readonly found = part("found");
  private readonly painter = new Painter(this.canvas, () => this.scene());
  private readonly loader: Loader;
  private readonly tracks: readonly Track[];
  private readonly span: number;
  private readonly folded = new Set<number>();
  private lanes;
  private view: View;
  private mark: [number, number] | null;
  private selected: Selected | null = null;
  /** The row of the last click on an event or a gap. */
  private chosenRow: number | null = null;
  private number: number | null = null;
  private matches: Matches | null;
  private match: number | null = null;
  private q: string;
  private width = 1;
  private settling = 0;
  private asked = 0;
  private readonly keys = this.bindKeys();

  constructor(root: HTMLElement, page: TimelinePage) {
    this.tracks = page.tracks;
    this.span = page.span_us;
    this.view = { start: page.start_us, end: page.end_us };
    this.mark = (page.mark_us as [number, number] | null) ?? null;
    this.matches = page.matches;
    this.q = page.q;
    this.selected = page.event;
    this.number = page.event?.event.number ?? null;
    this.lanes = laneOut(this.tracks, this.folded);
    this.loader = new Loader(
      (query) => this.twin(query),
      this.span,
      () => {
        this.say("");
        this.redraw();
      },
      (error) => this.say(sentenceOf(error)),
    );
    this.loader.begin(page);
    listen(this.canvas, RULER, this);
    offerKeys(this.keys);
    this.frame.addEventListener("scroll", () => this.redraw());
    new ResizeObserver(() => this.fit()).observe(this.frame);
    document.addEventListener("themechange", () => this.painter.recolour());
    this.startSearch(root);
    for (const button of root.querySelectorAll<HTMLButtonElement>("button[data-key]")) {
      button.addEventListener("click", () => this.key(button.dataset.key ?? ""));
    }
    this.panels.addEventListener("click", (event) => this.followed(event));
    this.fit();
    if (this.selected) this.reveal(this.selected.event.row);
    this.tellMatches();
    performance.mark("timeline drawn");
  }

  // --- drawing ---

  private fit(): void {
    this.width = Math.max(50, this.frame.clientWidth);
    this.room.style.height = `${this.lanes.height + RULER}px`;
    const height = Math.min(this.lanes.height + RULER, this.frame.clientHeight);
    this.canvas.style.height = `${height}px`;
    this.painter.size = { width: this.width, height };
    this.painter.draw();
    this.loader.want(this.view, this.width);
  }

  private redraw(): void {
    this.painter.later();
  }

  private scene(): Scene {
    const { view, span, lanes, selected, matches, match, mark, folded } = this;
    const { bars } = this.loader;
    const top = this.frame.scrollTop;
    return { view, span, lanes, bars, top, selected, matches, match, mark, folded };
  }

  /** Shows another window; the address and the panels follow after a short pause. */
  private show(view: View): void {
    this.view = view;
    this.leave();
    this.redraw();
    this.loader.want(view, this.width);
    this.settle();
  }

  private settle(): void {
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => void this.settled(), SETTLED_MS);
  }

  private async settled(): Promise<void> {
    const address = this.address();
    history.replaceState(null, "", address);
    this.asked += 1;
    const own = this.asked;
    try {
      const text = await askText(address, { "HX-Request": "true" });
      if (own !== this.asked) return;
      const held = this.panels.contains(document.activeElement);
      const before = this.frame.clientHeight;
      this.panels.innerHTML = text;
      // The panels can take room from the frame.
      if (this.frame.clientHeight < before && this.chosenRow !== null) this.reveal(this.chosenRow);
      if (held) {
        const link = this.panels.querySelector<HTMLElement>("[data-event][aria-current]");
        link?.focus({ preventScroll: true });
      }
    } catch (error) {
      // In place of the panels, which are of another window, until the next ones come.
      if (own !== this.asked) return;
      this.panels.replaceChildren(make("p", { class: "panel", role: "alert" }, sentenceOf(error)));
    }
  }

  // --- addresses ---

  private address(): string {
    const query = this.query();
    if (length(this.view) < this.span) {
      query.set("start", this.view.start.toFixed(3));
      query.set("end", this.view.end.toFixed(3));
    }
    if (this.number !== null) query.set("event", String(this.number));
    if (this.q) query.set("q", this.q);
    if (this.mark) query.set("mark", this.mark.map((each) => each.toFixed(3)).join("~"));
    const words = query.toString().replaceAll("%7E", "~");
    return location.pathname + (words ? `?${words}` : "");
  }

  private twin(query: Record<string, string>): string {
    return `/api${location.pathname}?${this.query(query)}`;
  }

  /** The query of an address in this trace. */
  private query(query: Record<string, string> = {}): URLSearchParams {
    const profile = new URLSearchParams(location.search).get("profile");
    return new URLSearchParams(profile ? { profile, ...query } : query);
  }

  /** What the server says of this trace, without bars; null if that failed, which the page says. */
  private async asks(query: Record<string, string>): Promise<TimelinePage | null> {
    try {
      const answer = await ask<TimelinePage>(this.twin({ ...query, width: "0" }));
      this.say("");
      return answer;
    } catch (error) {
      this.say(sentenceOf(error));
      return null;
    }
  }

  private say(words: string): void {
    this.status.textContent = words;
  }

  // --- actions of keys and pointers ---

  zoom(factor: number, x: number): boolean {
    if (factor > 1 && length(this.view) >= this.span) return false;
    this.show(zoomed(this.view, factor, this.at(x), this.span));
    return true;
  }

  pan(pixels: number): void {
    this.show(panned(this.view, pixels / this.width, this.span));
  }

  scroll(pixels: number): void {
    this.frame.scrollTop += pixels;
  }

  private at(x: number): number {
    return this.view.start + (x / this.width) * length(this.view);
  }

  private rowUnder(y: number): number | null {
    return y < RULER ? null : rowAt(this.lanes, y - RULER + this.frame.scrollTop);
  }

  private trackOf(row: number): Track | undefined {
    return this.tracks.find(
      (track) => row >= track.first_row && row < track.first_row + track.rows,
    );
  }

  private under(x: number, y: number): Bar | null {
    const row = this.rowUnder(y);
    if (row === null) return null;
    const pixel = length(this.view) / this.width;
    return this.loader.bars?.near(row, this.at(x), HIT_PIXELS * pixel) ?? null;
  }

  private gap(x: number, y: number): { start: number; us: number } | null {
    const row = this.rowUnder(y);
    return row === null ? null : (this.loader.bars?.gap(row, this.at(x)) ?? null);
  }

  hover(x: number, y: number): void {
    const bar = this.under(x, y);
    if (bar) this.describe(bar, x, y);
    else {
      const gap = this.gap(x, y);
      if (gap) this.tell(x, y, [`gap of ${microseconds(gap.us)}`, `from ${exact(gap.start)}`]);
      else this.leave();
    }
    this.canvas.style.cursor = bar ? "pointer" : "default";
  }

  private describe(bar: Bar, x: number, y: number): void {
    if (bar.count > 1) {
      this.tell(x, y, [
        `${count(bar.count, "event")} merged${bar.name ? `: ${bar.name}` : ""}`,
        `${microseconds(bar.busy)} in ${microseconds(bar.us)} (${share(bar.us ? bar.busy / bar.us : 1)}), from ${exact(bar.start)}`,
        `mostly ${categoryTitle(bar.category)}; zoom in to see each`,
      ]);
    } else {
      this.tell(x, y, [
        bar.name ?? "",
        `${microseconds(bar.us)} from ${exact(bar.start)}`,
        `${categoryTitle(bar.category)} · ${this.trackOf(bar.row)?.title ?? ""}`,
      ]);
    }
  }

  private tell(x: number, y: number, lines: string[]): void {
    this.tip.replaceChildren(...lines.map((line, at) => make(at ? "span" : "b", {}, line)));
    this.tip.hidden = false;
    const { clientWidth: wide, clientHeight: high } = this.tip;
    const below = y + 18 + high < this.canvas.clientHeight || y < high + 18;
    this.tip.style.left = `${Math.max(2, Math.min(x + 12, this.width - wide - 4))}px`;
    this.tip.style.top = `${below ? y + 16 : y - high - 10}px`;
  }

  leave(): void {
    this.tip.hidden = true;
  }

  click(x: number, y: number): void {
    this.canvas.focus({ preventScroll: true });
    const bar = this.under(x, y);
    if (!bar) {
      const top = y - RULER + this.frame.scrollTop;
      const lane = y < RULER ? null : laneAt(this.lanes, top);
      if (lane && top < lane.y + TITLE && lane.track.rows > 1) this.fold(lane.track.first_row);
      else if (y < RULER) this.setMark(null);
      else {
        this.chosenRow = this.rowUnder(y);
        // Events of other rows lie within those of the first.
        const idle = lane?.track.kind === "stream" && lane.track.first_row === this.chosenRow;
        const gap = idle ? this.gap(x, y) : null;
        this.select(null);
        // Rounded to nanoseconds, it would touch its neighbours.
        if (gap && gap.us > 2 * NANOSECOND) {
          this.setMark([gap.start + NANOSECOND, gap.start + gap.us - NANOSECOND]);
        }
      }
    } else if (bar.count > 1) this.show(around(bar.start, bar.us, this.span, 1.5));
    else {
      this.chosenRow = bar.row;
      this.select(bar.event);
    }
  }

  open(x: number, y: number): void {
    const bar = this.under(x, y);
    if (bar) this.show(around(bar.start, bar.us, this.span, 1.3));
  }

  private fold(row: number): void {
    if (!this.folded.delete(row)) this.folded.add(row);
    this.lanes = laneOut(this.tracks, this.folded);
    this.fit();
  }

  /** Unfolds and scrolls to a row. */
  private reveal(row: number): void {
    const track = this.trackOf(row);
    if (track && this.lanes.rowY[row] === NEVER) this.fold(track.first_row);
    const y = this.lanes.rowY[row] ?? 0;
    const high = this.frame.clientHeight - RULER;
    if (y < this.frame.scrollTop || y > this.frame.scrollTop + high - 2 * TITLE) {
      this.frame.scrollTop = y - high / 2;
    }
  }

  markFrom(from: number, to: number): void {
    const [start, end] = [this.at(Math.min(from, to)), this.at(Math.max(from, to))];
    this.setMark([Math.max(0, start), Math.min(this.span, end)]);
  }

  private setMark(mark: [number, number] | null): void {
    this.mark = mark;
    this.redraw();
    this.settle();
  }

  private select(number: number | null, reveal = false): void {
    this.number = number;
    if (number !== null) void this.loadSelected(number, reveal);
    else {
      this.selected = null;
      this.redraw();
      this.settle();
    }
  }

  private async loadSelected(number: number, reveal: boolean): Promise<void> {
    const answer = await this.asks({ event: String(number) });
    if (!answer || this.number !== number) return;
    this.selected = answer.event;
    if (answer.event && reveal) {
      const { row, start_us, us } = answer.event.event;
      this.reveal(row);
      this.show(showing(this.view, start_us, us, this.span));
    }
    this.redraw();
    this.settle();
  }

  /** A link to an event selects it here. */
  private followed(event: Event): void {
    const target = event.target instanceof Element ? event.target : null;
    const link = target?.closest<HTMLElement>("[data-event]");
    if (link?.dataset.event) {
      this.select(Number(link.dataset.event), true);
      if (this.frame.getBoundingClientRect().top < 0) this.frame.scrollIntoView();
    } else if (target?.closest("[data-unmark]")) this.setMark(null);
    else if (target?.closest("[data-zoom]")) this.key("f");
    else return;
    event.preventDefault();
  }

  key(key: string): boolean {
    const entry = this.keys.find(({ keys }) => keys.includes(key));
    entry?.run?.();
    return entry !== undefined;
  }

  private bindKeys(): readonly Key[] {
    const zoom = (factor: number) => this.show(zoomed(this.view, factor, this.middle(), this.span));
    const pan = (part: number) => this.show(panned(this.view, part, this.span));
    return [
      key(["w", "ArrowUp"], "w", "zoom in", () => zoom(0.67)),
      key(["s", "ArrowDown"], "s", "zoom out", () => zoom(1.5)),
      key(["a", "ArrowLeft"], "a", "move to the left", () => pan(-0.15)),
      key(["d", "ArrowRight"], "d", "move to the right", () => pan(0.15)),
      key(["0"], "0", "show the whole trace", () => this.show({ start: 0, end: this.span })),
      key(["f"], "f", "zoom to the event or the marked stretch", () => this.zoomTo()),
      key(["m"], "m", "mark the event's stretch", () => {
        if (!this.selected) return;
        const { start_us, us } = this.selected.event;
        this.setMark([start_us, start_us + us]);
      }),
      key(["n"], "n", "next match", () => void this.visit(1)),
      key(["N"], "Shift-N", "previous match", () => void this.visit(-1)),
      key(["["], "[", "previous event of the row", () => this.beside(-1)),
      key(["]"], "]", "next event of the row", () => this.beside(1)),
      key(["PageUp"], "", "", () => this.scroll(-this.frame.clientHeight * 0.8)),
      key(["PageDown"], "", "", () => this.scroll(this.frame.clientHeight * 0.8)),
      key(["Escape"], "Esc", "clear the mark, or the selection", () => {
        if (this.mark) this.setMark(null);
        else this.select(null);
      }),
    ];
  }

  /** The target of zooming by key: the selected event, if it is visible. */
  private middle(): number {
    const { start, end } = this.view;
    const event = this.selected?.event;
    const at = event ? event.start_us + event.us / 2 : start;
    return at > start && at < end ? at : (start + end) / 2;
  }

  private zoomTo(): void {
    if (this.mark) this.show(inside({ start: this.mark[0], end: this.mark[1] }, this.span));
    else if (this.selected) {
      const { start_us, us } = this.selected.event;
      this.show(around(start_us, us, this.span, 1.3));
    }
  }

  private beside(direction: number): void {
    if (this.number === null) return;
    const bar = this.loader.bars?.beside(this.number, direction);
    if (bar) this.select(bar.event, true);
  }

  // --- search ---

  private startSearch(root: HTMLElement): void {
    root.querySelector("form")?.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.visit(1);
    });
    let typing = 0;
    this.search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = window.setTimeout(() => void this.find(this.search.value.trim()), SETTLED_MS);
    });
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        this.search.value = "";
        void this.find("");
        this.canvas.focus();
      } else if (event.key === "Enter" && event.shiftKey) {
        event.preventDefault();
        void this.visit(-1);
      }
    });
  }

  private async find(q: string, from = 0): Promise<void> {
    this.q = q;
    this.match = null;
    if (!q) this.matches = null;
    else {
      const answer = await this.asks({ q, start: from.toFixed(3) });
      if (this.q !== q) return;
      if (answer) this.matches = answer.matches;
    }
    this.tellMatches();
    this.redraw();
    this.settle();
  }

  private tellMatches(): void {
    const { matches } = this;
    if (!matches) this.found.textContent = "";
    else if (!matches.total) this.found.textContent = "no match";
    else {
      const { total, us, device, device_us } = matches;
      const which = this.match === null ? "" : `${this.match + 1} of `;
      const rest = `${count(total - device, "other")}, ${microseconds(us - device_us)}`;
      this.found.textContent =
        device && device < total
          ? `${which && `${which}${total}: `}${count(device, "device run")}, ${microseconds(device_us)}; ${rest}`
          : `${which}${count(total, "match", "matches")}, ${microseconds(us)}`;
    }
  }

  /** Goes to the next or previous match, from the current one or from the start of the window. */
  private async visit(direction: number): Promise<void> {
    const typed = this.search.value.trim();
    if (typed !== this.q) await this.find(typed);
    if (!this.matches?.total) return;
    const listed = this.matches.start_us.length;
    let next = this.match === null ? this.firstInView(direction) : this.match + direction;
    if (listed < this.matches.total && (next < 0 || next >= listed)) {
      const last = this.matches.start_us[listed - 1] ?? 0;
      await this.find(this.q, next < 0 || last >= this.span ? 0 : last);
      next = 0;
    }
    const size = this.matches.start_us.length;
    this.match = (next + size) % size;
    this.tellMatches();
    this.select(this.matches.event[this.match] ?? null, true);
  }

  /** The match to begin with, on a device if there is one. */
  private firstInView(direction: number): number {
    const { row = [], start_us: starts = [] } = this.matches ?? {};
    const listed = [...row.keys()].filter((at) => this.trackOf(row[at] ?? 0)?.kind === "stream");
    const all = listed.length ? listed : [...row.keys()];
    const first = all.findIndex((at) => (starts[at] ?? 0) >= this.view.start);
    return all.at(direction > 0 ? Math.max(first, 0) : first - (first < 0 ? 0 : 1)) ?? 0;
  }
}

function start(): void {
  const root = document.querySelector<HTMLElement>("#timeline");
  const carried = document.querySelector("#timeline-data")?.textContent;
  if (root && carried) new Timeline(root, JSON.parse(carried) as TimelinePage);
}

start();
