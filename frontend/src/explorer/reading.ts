// Shows a graph while its run is still being read: says which step has been reached, and reloads
// the page when there is more. The address holds the state of the page, so nothing is lost.

import type { RunState } from "../shared/api";
import { ask } from "../shared/server";
import type { GraphPicture, Links } from "./shapes";

const READING_MS = 1500;
const ALIGNING_MS = 3000;

/** The step that a run has reached, as a sentence; null if it is completely read. */
export async function readingStep(run: string): Promise<string | null> {
  const { state, step, share } = await ask<RunState>(`/api/runs/${run}/state`);
  if (state !== "reading") return null;
  const percent = share === null ? "" : ` (${Math.round(share * 100)} %)`;
  return `${step ?? "Reading"}${percent} …`;
}

/** Reload the page as soon as `isDone`. Retries while the server does not answer. */
function reloadWhen(isDone: () => Promise<boolean>, every: number): void {
  const look = async () => {
    if (await isDone().catch(() => false)) location.reload();
    else setTimeout(look, every);
  };
  setTimeout(look, every);
}

/** Wait for the links and kernels of a graph; `step` receives each sentence until then. */
export function followReading(
  { run, explorerUrl, linksUrl }: { run: string; explorerUrl: string; linksUrl: string },
  step: (sentence: string) => void,
): void {
  reloadWhen(async () => {
    if ((await ask<Links>(linksUrl)).engine !== "") return true;
    if ((await ask<GraphPicture>(explorerUrl)).kernels.length > 0) return true;
    const sentence = await readingStep(run);
    if (sentence !== null) step(sentence);
    return sentence === null;
  }, READING_MS);
}

/** Wait until the lines of a graph's kernels are aligned, which is the last step. */
export function followAligning(explorerUrl: string): void {
  reloadWhen(async () => !(await ask<GraphPicture>(explorerUrl)).aligning, ALIGNING_MS);
}
