// The visible part of a text. Measuring it costs a layout of the page, and highlighting asks for
// every pane, so the answer is cached until the text scrolls or changes its size.

import { afterPaint } from "../../shared/frames";

export interface Seen {
  top: number;
  left: number;
  width: number;
  height: number;
}

export class ScrollPosition {
  private readonly observer: ResizeObserver | null;
  private gutters = 0;
  private known: Seen | null = null;
  /** Whether a new text has not been scrolled to its position yet. */
  isMoving = false;
  private readonly scrolled = () => {
    this.known = this.read();
  };

  constructor(private readonly element: HTMLElement | null) {
    this.observer = element ? new ResizeObserver(this.scrolled) : null;
    if (!element) return;
    this.observer?.observe(element);
    element.addEventListener("scroll", this.scrolled, { passive: true });
  }

  private read(): Seen {
    const { scrollTop: top, scrollLeft: left, clientWidth, clientHeight } = this.element ?? NOTHING;
    this.gutters = this.element?.querySelector(".cm-gutters")?.clientWidth ?? 0;
    return { top, left, width: clientWidth, height: clientHeight };
  }

  /** Another text is shown: its position is known in the next frame. */
  forget(): void {
    this.known = null;
    this.isMoving = true;
    afterPaint(() => {
      this.isMoving = false;
    });
  }

  seen(): Seen {
    this.known ??= this.read();
    return this.known;
  }

  /** Width of everything left of the text. */
  gutter(): number {
    this.seen();
    return this.gutters;
  }

  close(): void {
    this.observer?.disconnect();
    this.element?.removeEventListener("scroll", this.scrolled);
  }
}

const NOTHING = { scrollTop: 0, scrollLeft: 0, clientWidth: 0, clientHeight: 0 };
