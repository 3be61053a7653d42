// Mouse, pen and touch on the picture: dragging pans, the wheel and two fingers zoom, a press
// selects.
import type { Canvas, Spot } from "./canvas";

export interface PointerEvents {
  moved(): void;
  hovered(spot: Spot): void;
  /** `extend`: with the shift key. */
  clicked(spot: Spot, extend: boolean): void;
}

const NOWHERE: Spot = { node: null, group: null, line: null };
/** A press that moves less than this counts as a click. */
const STILL_PX = 4;

export function startPointer(canvas: Canvas, events: PointerEvents): void {
  const { element, camera } = canvas;
  const down = new Map<number, { x: number; y: number }>();
  let travelled = 0;
  let over: Spot = NOWHERE;
  let frame = 0;

  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const by = Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016));
      camera.scale(by, event.offsetX, event.offsetY);
      events.moved();
      canvas.later();
    },
    { passive: false },
  );
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (down.size === 1) travelled = 0;
  });
  element.addEventListener("pointermove", (event) => {
    const before = down.get(event.pointerId);
    if (!before) {
      const { offsetX, offsetY } = event;
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => hover(canvas.at(offsetX, offsetY)));
      return;
    }
    const now = { x: event.offsetX, y: event.offsetY };
    travelled += Math.hypot(now.x - before.x, now.y - before.y);
    if (travelled < STILL_PX) return;
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      const apart = Math.hypot(before.x - other.x, before.y - other.y);
      const by = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, apart);
      camera.scale(by, (now.x + other.x) / 2, (now.y + other.y) / 2);
    } else {
      camera.x += now.x - before.x;
      camera.y += now.y - before.y;
      element.classList.add("dragged");
    }
    down.set(event.pointerId, now);
    events.moved();
    canvas.later();
  });
  const up = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    element.classList.remove("dragged");
    if (event.type === "pointerup" && travelled < STILL_PX) {
      events.clicked(canvas.at(event.offsetX, event.offsetY), event.shiftKey);
    }
  };
  element.addEventListener("pointerup", up);
  element.addEventListener("pointercancel", up);
  element.addEventListener("pointerleave", () => {
    cancelAnimationFrame(frame);
    hover(NOWHERE);
  });

  function hover(spot: Spot): void {
    const same = spot.line?.from === over.line?.from && spot.line?.far === over.line?.far;
    if (spot.node === over.node && spot.group === over.group && same) return;
    over = spot;
    element.classList.toggle(
      "over",
      spot.node !== null || spot.group !== null || spot.line !== null,
    );
    events.hovered(spot);
  }
}
