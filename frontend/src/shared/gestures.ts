// Mouse, pen and touch on an element: hovering, dragging by one finger or two, and clicking.

/** A press that moves less than this counts as a click. */
const STILL_PX = 4;

interface Point {
  x: number;
  y: number;
}

export interface Drag {
  /** Where the last finger was put, and whether with the shift key. */
  began: Point & { shift: boolean };
  before: Point;
  now: Point;
  /** Where another finger is. */
  other: Point | undefined;
}

interface Gestures {
  hovered(event: PointerEvent): void;
  left(): void;
  dragged(drag: Drag): void;
  clicked(event: PointerEvent): void;
}

export function listenToPointers(element: HTMLElement, gestures: Gestures): void {
  const fingers = new Map<number, Point>();
  let began: Drag["began"] = { x: 0, y: 0, shift: false };
  let moved = false;
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    began = { x: event.offsetX, y: event.offsetY, shift: event.shiftKey };
    fingers.set(event.pointerId, began);
    moved = fingers.size > 1;
  });
  element.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) {
      gestures.hovered(event);
      return;
    }
    const now = { x: event.offsetX, y: event.offsetY };
    if (!moved && Math.hypot(now.x - began.x, now.y - began.y) < STILL_PX) return;
    moved = true;
    const other = [...fingers].find(([id]) => id !== event.pointerId)?.[1];
    fingers.set(event.pointerId, now);
    gestures.dragged({ began, before, now, other });
  });
  const ended = (event: PointerEvent) => {
    const isClick = fingers.delete(event.pointerId) && !moved && event.type === "pointerup";
    if (isClick) gestures.clicked(event);
  };
  element.addEventListener("pointerup", ended);
  element.addEventListener("pointercancel", ended);
  element.addEventListener("pointerleave", () => gestures.left());
}
