// Defers work until the current changes are painted.

export function afterPaint(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

/** Defers work until the browser is idle. */
export function whenIdle(work: () => void): void {
  requestIdleCallback(work, { timeout: 200 });
}
