// Defers work until the current changes are painted, and does long work in slices.

/** Milliseconds of a slice: no longer than a task that nobody notices. */
const SLICE = 30;

export function afterPaint(work: () => void): void {
  requestAnimationFrame(() => setTimeout(work));
}

/** Defers work until the browser is idle. */
export function whenIdle(work: () => void): void {
  requestIdleCallback(work, { timeout: 200 });
}

/** Lets the browser do what else there is to do. */
export function pause(): Promise<void> {
  return new Promise((next) => setTimeout(next));
}

/** Work that may be interrupted wherever it yields. */
export type Slices<Result> = Generator<undefined, Result>;

export async function inSlices<Result>(work: Slices<Result>): Promise<Result> {
  let until = performance.now() + SLICE;
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (performance.now() < until || document.hidden) continue; // a hidden page waits long
    await pause();
    until = performance.now() + SLICE;
  }
}

export function atOnce<Result>(work: Slices<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
