// The overview ruler: the positions of matches in the whole file. Rows that share a pixel are drawn
// once. It is only visual: the status line has the count, and n and p step through the matches.

import { make } from "../../shared/elements";
import { Sheet } from "../../shared/sheet";
import type { Matches } from "../state/links";
import type { Marks } from "../state/marks";

export class Ruler extends Sheet {
  private marks: Marks | null = null;
  private first = 1;
  private count = 1;

  constructor(jump: (line: number) => void) {
    super(make("canvas", { class: "ruler", "aria-hidden": "true" }));
    this.element.addEventListener("click", (event) => {
      const part = event.offsetY / Math.max(1, this.element.clientHeight);
      jump(this.first + Math.floor(part * this.count));
    });
    this.watch(() => this.later());
  }

  show(marks: Marks, first: number, count: number): void {
    this.marks = marks;
    this.first = first;
    this.count = Math.max(1, count);
    this.later();
  }

  /** Draw a frame after the lines, because the reader looks at these first. */
  override later(frames = 2): void {
    super.later(frames);
  }

  draw(): void {
    const { marks, pen, element } = this;
    const scale = this.begin();
    if (!scale || !marks) return;
    pen.resetTransform(); // rows are whole dots
    pen.fillStyle = this.ink("accent");
    pen.globalAlpha = 0.4;
    this.rows(marks.hovered, scale);
    pen.globalAlpha = 1;
    this.rows(marks.pinned, scale);
    if (marks.origin) {
      const top = this.row(marks.origin.first);
      const bottom = this.row(marks.origin.last);
      pen.fillRect(0, top, element.width, Math.max(3 * scale, bottom - top));
    }
  }

  private row(line: number): number {
    return Math.floor(((line - this.first) / this.count) * this.element.height);
  }

  private rows(matches: Matches, scale: number): void {
    let last = Number.NEGATIVE_INFINITY;
    const thick = Math.max(2, Math.round(2 * scale));
    for (const line of matches.lines) {
      const y = this.row(line);
      if (y < last + thick) continue;
      this.pen.fillRect(2 * scale, y, this.element.width - 3 * scale, thick);
      last = y;
    }
  }
}
