// Translates wheel, pointer and keys on the timeline's canvas into actions.
import { listenToPointers } from "../shared/gestures";
import { takesText } from "../shared/keys";

export interface Acts {
  /** Returns whether zooming was possible. */
  zoom(factor: number, x: number): boolean;
  pan(pixels: number): void;
  scroll(pixels: number): void;
  hover(x: number, y: number): void;
  leave(): void;
  click(x: number, y: number): void;
  open(x: number, y: number): void;
  markFrom(from: number, to: number): void;
  key(key: string): boolean;
}

/** A notch of a wheel is about 100 pixels. */
const PER_PIXEL = 1.0022;
const LINE = 30;

/** `ruler`: the height below which a drag pans; above it, or with Shift, it marks a stretch. */
export function listen(canvas: HTMLCanvasElement, ruler: number, acts: Acts): void {
  canvas.addEventListener(
    "wheel",
    (event) => {
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
      let done = true;
      if (event.shiftKey && !event.ctrlKey) acts.scroll((event.deltaY || event.deltaX) * unit);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) acts.pan(event.deltaX * unit);
      // A pinch on a touchpad arrives as small steps with Ctrl.
      else
        done = acts.zoom(
          PER_PIXEL ** (event.deltaY * unit * (event.ctrlKey ? 4 : 1)),
          event.offsetX,
        );
      // If the whole trace is visible, the wheel scrolls the page instead.
      if (done || event.ctrlKey) event.preventDefault();
    },
    { passive: false },
  );

  listenToPointers(canvas, {
    hovered: ({ offsetX, offsetY }) => acts.hover(offsetX, offsetY),
    left: () => acts.leave(),
    dragged: ({ began, before, now, other }) => {
      if (other) {
        const apart = Math.max(10, Math.abs(now.x - other.x));
        const middle = (now.x + other.x) / 2;
        acts.zoom(Math.max(10, Math.abs(before.x - other.x)) / apart, middle);
        acts.pan((before.x - now.x) / 2);
      } else if (began.shift || began.y < ruler) acts.markFrom(began.x, now.x);
      else {
        acts.pan(before.x - now.x);
        acts.scroll(before.y - now.y);
      }
    },
    clicked: ({ offsetX, offsetY }) => acts.click(offsetX, offsetY),
  });
  canvas.addEventListener("dblclick", ({ offsetX, offsetY }) => acts.open(offsetX, offsetY));

  // Letters work anywhere on the page, other keys only if no other element uses them.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : null;
    const here = target === canvas;
    if (!here && takesText(target)) return;
    if (!here && !/^[\w,.[\]]$/.test(event.key)) return;
    if (acts.key(event.key)) event.preventDefault();
  });
}
