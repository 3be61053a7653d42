// A job's progress as the server streams it, as text with exact figures.
import type { JobProgress } from "../shared/api";
import { bytes, count, thousands } from "../shared/figures";

export const OVER = new Set(["done", "failed", "cancelled"]);

const RETRY_MS = 2000;

/** Listen until the job has ended. Waits while the server is unreachable. */
export function follow(
  url: string,
  update: (progress: JobProgress) => void,
  away: (isAway: boolean) => void,
): void {
  const listen = () => {
    const source = new EventSource(url);
    source.onopen = () => away(false);
    source.onmessage = (event) => {
      const progress = JSON.parse(String(event.data)) as JobProgress;
      if (OVER.has(progress.state)) source.close();
      update(progress);
    };
    source.onerror = () => {
      away(true);
      // Otherwise the browser reconnects by itself.
      if (source.readyState === EventSource.CLOSED) setTimeout(listen, RETRY_MS);
    };
  };
  listen();
}

/** "2.1 of 4.8 MiB", "3 of 12 files", or nothing while there is no total. */
export function figureOf(progress: JobProgress): string {
  const { done, total, unit } = progress;
  if (total === null || total === 0) return "";
  if (unit === "bytes") return `${bytes(done)} of ${bytes(total)}`;
  return `${thousands(done)} of ${count(total, unit ? unit.replace(/s$/, "") : "step")}`;
}
