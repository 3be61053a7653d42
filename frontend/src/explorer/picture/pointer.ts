// Mouse, pen and touch on the picture: dragging pans, the wheel and two fingers zoom, a press
// selects.
import { listenToPointers } from "../../shared/gestures";
import type { Canvas, Spot } from "./canvas";

export interface PointerEvents {
  moved(): void;
  hovered(spot: Spot): void;
  /** `extend`: with the shift key. */
  clicked(spot: Spot, extend: boolean): void;
}

const NOWHERE: Spot = { node: null, group: null, line: null };

export function startPointer(canvas: Canvas, events: PointerEvents): void {
  const { element, camera } = canvas;
  let over: Spot = NOWHERE;
  let frame = 0;
  const moved = () => {
    events.moved();
    canvas.later();
  };
  element.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const by = Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016));
      camera.scale(by, event.offsetX, event.offsetY);
      moved();
    },
    { passive: false },
  );
  listenToPointers(element, {
    hovered: ({ offsetX, offsetY }) => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => hover(canvas.at(offsetX, offsetY)));
    },
    left: () => {
      cancelAnimationFrame(frame);
      hover(NOWHERE);
    },
    dragged: ({ before, now, other }) => {
      if (other) {
        const apart = Math.hypot(before.x - other.x, before.y - other.y);
        const by = Math.hypot(now.x - other.x, now.y - other.y) / Math.max(1, apart);
        camera.scale(by, (now.x + other.x) / 2, (now.y + other.y) / 2);
      } else {
        camera.x += now.x - before.x;
        camera.y += now.y - before.y;
      }
      moved();
    },
    clicked: ({ offsetX, offsetY, shiftKey }) =>
      events.clicked(canvas.at(offsetX, offsetY), shiftKey),
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
