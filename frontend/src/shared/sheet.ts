// A canvas as sharp as the screen, drawn in the colours of the page's theme.
import { colourOf } from "./theme";

export interface Size {
  width: number;
  height: number;
}

export abstract class Sheet {
  readonly pen: CanvasRenderingContext2D;
  /** In pixels of the page. Reading it from the element while lines change would cost a layout. */
  size: Size = { width: 0, height: 0 };
  private readonly inks = new Map<string, string>();
  private observer: ResizeObserver | null = null;
  private frame = 0;

  constructor(
    readonly element: HTMLCanvasElement,
    settings: CanvasRenderingContext2DSettings = {},
  ) {
    this.pen = element.getContext("2d", settings) as CanvasRenderingContext2D;
  }

  abstract draw(): void;

  /** Keep the size of the element; `resized` is called after each change. */
  protected watch(resized: () => void): void {
    this.observer = new ResizeObserver((entries) => {
      const { width, height } = entries.at(-1)?.contentRect ?? this.size;
      if (width === this.size.width && height === this.size.height) return;
      this.size = { width, height };
      resized();
    });
    this.observer.observe(this.element);
  }

  /** Begin a drawing on the empty sheet. Returns the dots of a pixel; 0 if the sheet has no room. */
  protected begin(): number {
    const { element, pen, size } = this;
    const dots = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(size.width * dots), Math.round(size.height * dots)];
    if (!width || !height) return 0;
    if (element.width !== width) element.width = width;
    if (element.height !== height) element.height = height;
    pen.reset();
    pen.scale(dots, dots);
    return dots;
  }

  protected ink(token: string): string {
    const ink = this.inks.get(token) ?? colourOf(token);
    this.inks.set(token, ink);
    return ink;
  }

  /** Draw in the current colours. */
  recolour(): void {
    this.inks.clear();
    this.later();
  }

  /** Draw in the next frame, or some frames later. */
  later(frames = 1): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => (frames > 1 ? this.later(frames - 1) : this.draw()));
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.observer?.disconnect();
  }
}
