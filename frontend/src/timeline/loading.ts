// Requests what is visible from the server: bars in as much detail as there are pixels, and a
// margin at the sides for panning.
import type { TimelinePage } from "../shared/api";
import { ask } from "../shared/server";
import { Bars } from "./bars";
import { inside, length, type View } from "./view";

/** The margin to load on each side, as a multiple of the view. */
const BESIDE = 0.5;
const MOST_WIDTH = 20_000;
const ROUNDING_US = 0.002;

export class Loader {
  bars: Bars | null = null;
  private wanted: { view: View; pixel: number } | null = null;
  private busy = false;
  /** µs per pixel when the loaded bars were requested. */
  private pixel = 0;

  constructor(
    private readonly address: (query: Record<string, string>) => string,
    private readonly span: number,
    private readonly loaded: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** The data that came with the page. */
  begin(answer: TimelinePage): void {
    this.bars = new Bars(answer);
    this.pixel = answer.resolution_us;
  }

  /** Loads what the view needs, unless it is already loaded. */
  want(view: View, width: number): void {
    const pixel = length(view) / Math.max(1, width);
    if (this.covers(view, pixel)) this.wanted = null;
    else {
      this.wanted = { view, pixel };
      if (!this.busy) void this.load();
    }
  }

  private covers(view: View, pixel: number): boolean {
    const { bars } = this;
    if (!bars) return false;
    const near = length(view) * BESIDE * 0.3;
    return (
      Math.max(0, view.start - near) >= bars.start - ROUNDING_US &&
      Math.min(this.span, view.end + near) <= bars.end + ROUNDING_US &&
      pixel >= this.pixel * 0.8 &&
      pixel <= this.pixel * 4
    );
  }

  private async load(): Promise<void> {
    this.busy = true;
    while (this.wanted) {
      const { view, pixel } = this.wanted;
      this.wanted = null;
      const more = length(view) * BESIDE;
      const window = inside(
        { start: Math.max(0, view.start - more), end: Math.min(this.span, view.end + more) },
        this.span,
      );
      const width = Math.min(MOST_WIDTH, Math.max(1, Math.round(length(window) / pixel)));
      try {
        const answer = await ask<TimelinePage>(
          this.address({
            start: window.start.toFixed(3),
            end: window.end.toFixed(3),
            width: String(width),
          }),
        );
        this.bars = new Bars(answer);
        this.pixel = pixel;
        this.loaded();
      } catch (error) {
        this.failed(error);
      }
    }
    this.busy = false;
  }
}
