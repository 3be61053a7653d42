// Updates pages of a watched folder: when a newer run is available, the page shows its content, and
// the address changes.
import type { Watched } from "../shared/api";
import { ask, askText } from "../shared/server";

const PAUSE_MS = 1500;

/** The same page of another run. */
function sameOf(path: string, before: string, after: string): string {
  if (before === "" || path.startsWith("/watch/")) return `/runs/${after}/compile`;
  return path.replace(`/runs/${before}`, `/runs/${after}`);
}

async function renew(run: string, grown: () => void): Promise<void> {
  const main = document.querySelector<HTMLElement>("main#content");
  if (!main) return;
  const path = sameOf(location.pathname, main.dataset.run ?? "", run) + location.search;
  const text = await askText(path, { accept: "text/html" });
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const newer = fresh.querySelector<HTMLElement>("main#content");
  if (!newer) return;
  for (const [number, details] of [...newer.querySelectorAll("details")].entries())
    details.open ||= main.querySelectorAll("details")[number]?.open ?? false;
  const at = window.scrollY;
  main.replaceWith(newer);
  document.title = fresh.title;
  history.replaceState(null, "", path + location.hash);
  window.scrollTo(0, at);
  grown();
}

/** `grown`: runs the page's scripts again on the new content. */
export function startWatching(grown: () => void): void {
  if (!document.querySelector("main[data-watch]")) return;
  const look = async () => {
    const main = document.querySelector<HTMLElement>("main[data-watch]");
    const typing = document.activeElement instanceof HTMLInputElement;
    if (main?.dataset.watch && !document.hidden && !typing) {
      try {
        const { run } = await ask<Watched>(main.dataset.watch);
        if (run && run.id !== main.dataset.run) await renew(run.id, grown);
      } catch {
        // The server is unreachable for a moment; the next check decides.
      }
    }
    window.setTimeout(look, PAUSE_MS);
  };
  window.setTimeout(look, PAUSE_MS);
}
