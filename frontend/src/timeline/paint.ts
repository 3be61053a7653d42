// Draws the timeline on a canvas.
import type { Event, Matches, Selected } from "../shared/api";
import { microseconds } from "../shared/figures";
import { hueOf } from "../shared/naming";
import { Sheet } from "../shared/sheet";
import type { Bars } from "./bars";
import { type Lanes, ROW, TITLE } from "./lanes";
import { length, type Tick, ticks, type View } from "./view";

export const RULER = 28;
/** The strip at its top that says which part of the trace is visible. */
const STRIP = 5;
/** Middle of the ruler's labels. */
const LABEL = 15;
const FONT = "11px system-ui, sans-serif";
/** Its letters give the width of a letter of the font that a machine has. */
const TYPICAL = "triton_poi_fused_add_relu_12";
const LEAST_TEXT = 26;
const SHADES = 3;
/** Narrower bars are drawn in a stronger colour. */
const THIN = 3;

type Rgb = [number, number, number];

function rgb(colour: string): Rgb {
  const parts = colour.match(/[\d.]+/g) ?? [];
  return [Number(parts[0]), Number(parts[1]), Number(parts[2])];
}

function mixed(one: Rgb, other: Rgb, part: number): string {
  const of = (place: 0 | 1 | 2) => Math.round(one[place] * part + other[place] * (1 - part));
  return `rgb(${of(0)},${of(1)},${of(2)})`;
}

interface Hue {
  /** For wide bars: neighbours with different names get slightly different shades. */
  shades: string[];
  strong: string;
  pale: string;
}

/** The marked stretch, in pixels. */
interface Marked {
  x: number;
  wide: number;
  label: string;
}

export interface Scene {
  view: View;
  /** Length of the whole trace. */
  span: number;
  lanes: Lanes;
  bars: Bars | null;
  /** How far the tracks are scrolled. */
  top: number;
  selected: Selected | null;
  matches: Matches | null;
  /** Number of the current match. */
  match: number | null;
  mark: [number, number] | null;
  folded: ReadonlySet<number>;
}

export class Painter extends Sheet {
  private readonly hues = new Map<string, Hue>();

  /** `scene`: what is to be drawn now. */
  constructor(
    canvas: HTMLCanvasElement,
    private readonly scene: () => Scene,
  ) {
    super(canvas, { alpha: false });
  }

  override recolour(): void {
    this.hues.clear();
    super.recolour();
  }

  /** The colours of a category's bars. */
  private hueOf(category: string): Hue {
    const token = hueOf(category);
    let hue = this.hues.get(token);
    if (!hue) {
      const [colour, panel] = [rgb(this.ink(token)), rgb(this.ink("panel"))];
      hue = {
        shades: [0.34, 0.44, 0.54].map((part) => mixed(colour, panel, part)),
        strong: mixed(colour, panel, 0.85),
        pale: mixed(colour, panel, 0.2),
      };
      this.hues.set(token, hue);
    }
    return hue;
  }

  draw(): void {
    if (!this.begin()) return;
    const { pen } = this;
    const { width, height } = this.size;
    const scene = this.scene();
    this.fill("panel", 0, 0, width, height);
    const marks = ticks(scene.view, width);
    for (const { us } of marks) {
      this.fill("line", Math.round(this.x(scene, us)), 0, 1, height);
    }
    const mark = scene.mark && this.marked(scene, scene.mark);
    if (mark) this.fill("pin", mark.x, 0, mark.wide, height);
    pen.font = FONT;
    pen.textBaseline = "middle";
    this.drawTracks(scene);
    this.drawMatches(scene);
    this.drawSelected(scene);
    this.drawRuler(scene, marks, mark);
  }

  private fill(token: string, x: number, y: number, width: number, height: number): void {
    this.pen.fillStyle = this.ink(token);
    this.pen.fillRect(x, y, width, height);
  }

  private x(scene: Scene, us: number): number {
    return ((us - scene.view.start) / length(scene.view)) * this.size.width;
  }

  private y(scene: Scene, row: number): number | null {
    const y = scene.lanes.rowY[row];
    return y === undefined || y < 0 ? null : y - scene.top + RULER;
  }

  private marked(scene: Scene, [start, end]: [number, number]): Marked {
    const x = this.x(scene, start);
    const wide = Math.max(1, this.x(scene, end) - x);
    return { x, wide, label: microseconds(end - start) };
  }

  private drawRuler(scene: Scene, marks: Tick[], mark: Marked | null): void {
    const { pen } = this;
    const { width } = this.size;
    this.fill("sunk", 0, 0, width, RULER);
    if (mark) {
      this.fill("pin", mark.x, 0, mark.wide, RULER);
      this.fill("accent", mark.x, RULER - 3, mark.wide, 3);
    }
    this.fill("line", 0, RULER - 1, width, 1);
    const { view, span } = scene;
    if (length(view) < span) {
      this.fill("line", 0, 0, width, STRIP);
      const wide = Math.max(3, (length(view) / span) * width);
      const x = Math.min((view.start / span) * width, width - wide);
      this.fill("accent", x, 0, wide, STRIP);
    }
    for (const { us, label } of marks) {
      const x = Math.round(this.x(scene, us));
      this.fill("line", x, RULER - 7, 1, 7);
      pen.fillStyle = this.ink("soft");
      if (x + 4 + pen.measureText(label).width < width) pen.fillText(label, x + 4, LABEL);
    }
    if (!mark) return;
    const wide = mark.label.length * 7 + 8;
    if (mark.wide <= wide) return;
    const middle = (Math.max(0, mark.x) + Math.min(width, mark.x + mark.wide)) / 2;
    this.fill("pin", middle - wide / 2, STRIP + 1, wide, RULER - STRIP - 5);
    pen.fillStyle = this.ink("ink");
    pen.textAlign = "center";
    pen.fillText(mark.label, middle, LABEL);
    pen.textAlign = "left";
  }

  private drawTracks(scene: Scene): void {
    const { pen } = this;
    const { width, height } = this.size;
    for (const lane of scene.lanes.all) {
      const y = lane.y - scene.top + RULER;
      if (y > height || y + TITLE + lane.rows * ROW < RULER) continue;
      for (let row = 0; scene.bars && row < lane.rows; row++) {
        const top = y + TITLE + row * ROW;
        if (top + ROW >= RULER && top <= height) {
          this.drawRow(scene, scene.bars, lane.track.first_row + row, top);
        }
      }
      this.fill("sunk", 0, y, width, TITLE - 2);
      this.fill("line", 0, y, width, 1);
      pen.fillStyle = this.ink("ink");
      const folds = lane.track.rows > 1;
      const sign = !folds ? "" : scene.folded.has(lane.track.first_row) ? "▸ " : "▾ ";
      pen.fillText(`${sign}${lane.track.title}`, 6, y + TITLE / 2);
    }
  }

  private drawRow(scene: Scene, bars: Bars, row: number, top: number): void {
    const { pen } = this;
    const { view } = scene;
    const scale = this.size.width / length(view);
    const [first, last] = bars.inRow(row, view.start, view.end);
    const tall = ROW - 2;
    const texts: [string, number, number][] = [];
    pen.globalAlpha = scene.matches ? 0.4 : 1;
    let colour = "";
    const fill = (wanted: string) => {
      if (wanted !== colour) {
        pen.fillStyle = wanted;
        colour = wanted;
      }
    };
    for (let at = first; at < last; at++) {
      const start = bars.starts[at] as number;
      const exact = (bars.lengths[at] as number) * scale;
      const from = Math.max(-2, (start - view.start) * scale);
      const wide = Math.max(
        0.8,
        Math.min(this.size.width + 2, (start - view.start) * scale + exact) - from,
      );
      const name = bars.name[at] as number;
      const hue = this.hueOf(bars.categories[bars.category[at] as number] ?? "");
      const count = bars.count[at] as number;
      if (count > 1) {
        // A merged bar is as high as the share of it that its events fill.
        const part = Math.min(1, (bars.busy[at] as number) / ((bars.lengths[at] as number) || 1));
        const high = Math.max(3, Math.round(tall * part * 0.8));
        fill(hue.pale);
        pen.fillRect(from, top, wide, tall);
        fill(hue.strong);
        pen.fillRect(from, top + tall - high, wide, high);
        if (wide > 40) texts.push([`${count} events`, from, wide]);
      } else if (wide < THIN) {
        fill(hue.strong);
        pen.fillRect(from, top, wide, tall);
      } else {
        fill(hue.shades[name % SHADES] ?? hue.strong);
        pen.fillRect(from, top, wide - 0.7, tall);
        if (wide > LEAST_TEXT) texts.push([bars.names[name] ?? "", from, wide]);
      }
    }
    pen.fillStyle = this.ink("ink");
    const letter = pen.measureText(TYPICAL).width / TYPICAL.length;
    for (const [text, from, wide] of texts) {
      const begin = Math.max(0, from) + 4;
      const room = Math.floor((from + wide - begin - 3) / letter);
      if (room < 3) continue;
      const fitting = text.length > room ? cut(text, room) : text;
      pen.fillText(fitting, begin, top + tall / 2 + 0.5, from + wide - begin - 2);
    }
    pen.globalAlpha = 1;
  }

  private drawMatches(scene: Scene): void {
    const { matches, view } = scene;
    if (!matches) return;
    const { pen } = this;
    const starts = matches.start_us;
    const scale = this.size.width / length(view);
    pen.fillStyle = this.ink("heat");
    const last = new Map<number, number>();
    for (let at = 0; at < starts.length; at++) {
      const start = starts[at] as number;
      const end = start + (matches.length_us[at] as number);
      if (end < view.start || start > view.end) continue;
      const row = matches.row[at] as number;
      const y = this.y(scene, row);
      if (y === null || y + ROW < RULER || y > this.size.height) continue;
      const x = Math.max(-1, (start - view.start) * scale);
      if (Math.floor(x) === last.get(row)) continue; // already drawn
      last.set(row, Math.floor(x));
      const wide = Math.max(2, Math.min(this.size.width + 1, (end - view.start) * scale) - x);
      pen.globalAlpha = at === scene.match ? 0.9 : 0.45;
      pen.fillRect(x, y, wide, ROW - 2);
    }
    pen.globalAlpha = 1;
  }

  private drawSelected(scene: Scene): void {
    const { selected } = scene;
    if (!selected) return;
    const { pen } = this;
    pen.save();
    pen.beginPath();
    pen.rect(0, RULER, this.size.width, this.size.height);
    pen.clip();
    pen.strokeStyle = this.ink("accent");
    pen.lineWidth = 1.2;
    const launch = selected.event.on_device ? selected.around.at(-1) : null;
    const pairs: [Event, Event][] = selected.launched.map(({ event, by }) => [by, event]);
    if (launch) pairs.push([launch, selected.event]);
    for (const [by, event] of pairs) this.drawFlow(scene, by, event);
    for (const around of selected.event.on_device ? selected.around : []) {
      this.outline(scene, around, 1, this.ink("accent"));
    }
    this.outline(scene, selected.event, 2, this.ink("ink"));
    pen.restore();
  }

  private drawFlow(scene: Scene, by: Event, event: Event): void {
    const from = this.y(scene, by.row);
    const to = this.y(scene, event.row);
    if (from === null || to === null) return;
    const x = this.x(scene, by.start_us + by.us);
    const until = this.x(scene, event.start_us);
    if (Math.max(x, until) < 0 || Math.min(x, until) > this.size.width) return;
    const { pen } = this;
    const bend = Math.max(20, Math.min(120, Math.abs(until - x) / 2));
    const begin = from + (to > from ? ROW - 2 : 0);
    const end = to + (to > from ? 0 : ROW - 2);
    pen.beginPath();
    pen.moveTo(x, begin);
    pen.bezierCurveTo(x + bend, begin, until - bend, end, until, end);
    pen.stroke();
    pen.fillStyle = this.ink("accent");
    pen.beginPath();
    pen.arc(until, end, 2.5, 0, 7);
    pen.fill();
  }

  private outline(scene: Scene, event: Event, thick: number, colour: string): void {
    const y = this.y(scene, event.row);
    if (y === null) return;
    const { pen } = this;
    const x = Math.max(-4, this.x(scene, event.start_us));
    const end = Math.min(this.size.width + 4, this.x(scene, event.start_us + event.us));
    pen.strokeStyle = colour;
    pen.lineWidth = thick;
    pen.strokeRect(x, y - 0.5, Math.max(2, end - x), ROW - 1);
  }
}

/** A name for little space, without the beginning that many share. */
function cut(name: string, room: number): string {
  const short = name.replace(/^(triton_|aten::|void )/, "");
  return short.length > room ? `${short.slice(0, room - 1)}…` : short;
}
