// The overview ruler: the positions of matches in the whole file. Rows that share a pixel are drawn
// once. It is only visual: the status line has the count, and n and p step through the matches.

import type { Matches } from "../state/links";
import type { Marks } from "../state/marks";

export class Ruler {
  readonly canvas: HTMLCanvasElement;
  private readonly observer: ResizeObserver;
  private marks: Marks | null = null;
  private first = 1;
  private count = 1;
  // Size and colour are cached, because reading them while lines change costs a layout each time.
  private width = 0;
  private height = 0;
  private colour = "";
  private frame = 0;

  constructor(jump: (line: number) => void) {
    this.canvas = document.createElement("canvas");
    this.canvas.className = "ruler";
    this.canvas.setAttribute("aria-hidden", "true");
    this.canvas.addEventListener("click", (event) => {
      const part = event.offsetY / Math.max(1, this.canvas.clientHeight);
      jump(this.first + Math.floor(part * this.count));
    });
    this.observer = new ResizeObserver((entries) => {
      const box = entries.at(-1)?.contentRect;
      if (box) [this.width, this.height] = [box.width, box.height];
      this.redraw();
    });
    this.observer.observe(this.canvas);
  }

  show(marks: Marks, first: number, count: number): void {
    this.marks = marks;
    this.first = first;
    this.count = Math.max(1, count);
    this.later();
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
  }

  /** Redraw in the current colours. */
  redraw(): void {
    this.colour = "";
    this.later();
  }

  /** Draw a frame after the lines, because the reader looks at these first. */
  private later(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.frame = requestAnimationFrame(() => this.draw());
    });
  }

  private draw(): void {
    const { canvas, marks } = this;
    const scale = window.devicePixelRatio || 1;
    const width = Math.round(this.width * scale);
    const height = Math.round(this.height * scale);
    if (!width || !height) return;
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    const pen = canvas.getContext("2d");
    if (!pen) return;
    pen.clearRect(0, 0, width, height);
    if (!marks) return;
    this.colour ||= getComputedStyle(canvas).getPropertyValue("color");
    pen.fillStyle = this.colour;
    pen.globalAlpha = 0.4;
    this.rows(pen, marks.hovered, width, height, scale);
    pen.globalAlpha = 1;
    this.rows(pen, marks.pinned, width, height, scale);
    if (marks.origin) {
      const top = this.row(marks.origin.first, height);
      const bottom = this.row(marks.origin.last, height);
      pen.fillRect(0, top, width, Math.max(3 * scale, bottom - top));
    }
  }

  private row(line: number, height: number): number {
    return Math.floor(((line - this.first) / this.count) * height);
  }

  private rows(
    pen: CanvasRenderingContext2D,
    matches: Matches,
    width: number,
    height: number,
    scale: number,
  ): void {
    let last = Number.NEGATIVE_INFINITY;
    const thick = Math.max(2, Math.round(2 * scale));
    for (const line of matches.lines) {
      const y = this.row(line, height);
      if (y < last + thick) continue;
      pen.fillRect(2 * scale, y, width - 3 * scale, thick);
      last = y;
    }
  }
}
