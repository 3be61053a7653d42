// Work that may wait until what was just changed is painted.

export function afterPaint(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

/** Work that may wait until the page has nothing better to do. */
export function whenIdle(work: () => void): void {
  requestIdleCallback(work, { timeout: 200 });
}
