// Translates wheel, pointer and keys on the timeline's canvas into actions.
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

const CLICK_PIXELS = 4;
/** A notch of a wheel is about 100 pixels. */
const PER_PIXEL = 1.0022;
const LINE = 30;

/** `ruler`: the height below which a drag pans; above it, or with Shift, it marks a stretch. */
export function listen(canvas: HTMLCanvasElement, ruler: number, acts: Acts): void {
  const at = (event: MouseEvent): [number, number] => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener(
    "wheel",
    (event) => {
      const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE : 1;
      const [x] = at(event);
      let done = true;
      if (event.shiftKey && !event.ctrlKey) acts.scroll((event.deltaY || event.deltaX) * unit);
      else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) acts.pan(event.deltaX * unit);
      // A pinch on a touchpad arrives as small steps with Ctrl.
      else done = acts.zoom(PER_PIXEL ** (event.deltaY * unit * (event.ctrlKey ? 4 : 1)), x);
      // If the whole trace is visible, the wheel scrolls the page instead.
      if (done || event.ctrlKey) event.preventDefault();
    },
    { passive: false },
  );

  const fingers = new Map<number, [number, number]>();
  let began: [number, number] | null = null;
  let moved = false;
  let marking = false;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const place = at(event);
    canvas.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place);
    began = place;
    moved = fingers.size > 1;
    marking = fingers.size === 1 && (event.shiftKey || place[1] < ruler);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = at(event);
    const before = fingers.get(event.pointerId);
    if (!before || !began) {
      acts.hover(x, y);
      return;
    }
    if (!moved && Math.hypot(x - began[0], y - began[1]) < CLICK_PIXELS) return;
    moved = true;
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, [x, y]);
    if (marking) acts.markFrom(began[0], x);
    else if (other) {
      const apart = Math.max(10, Math.abs(x - other[0]));
      acts.zoom(Math.max(10, Math.abs(before[0] - other[0])) / apart, (x + other[0]) / 2);
      acts.pan((before[0] - x) / 2);
    } else {
      acts.pan(before[0] - x);
      acts.scroll(before[1] - y);
    }
  });
  const ended = (event: PointerEvent) => {
    if (!fingers.delete(event.pointerId)) return;
    if (!moved && event.type === "pointerup") acts.click(...at(event));
    if (!fingers.size) began = null;
  };
  canvas.addEventListener("pointerup", ended);
  canvas.addEventListener("pointercancel", ended);
  canvas.addEventListener("pointerleave", () => acts.leave());
  canvas.addEventListener("dblclick", (event) => acts.open(...at(event)));

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
