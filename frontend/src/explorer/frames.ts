// Work that may wait until what was just changed is painted.

export function afterPaint(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}
