// A graph that is looked at while its run is still being read: what is happening, and what to do
// when more of it has come.
import { ask } from "../shared/server";

interface RunState {
  state: "reading" | "complete";
  step: string | null;
  share: number | null;
}

const EVERY_MS = 1500;

/** What is being read, as a sentence; null when nothing is any more. */
async function stepOf(run: string): Promise<string | null> {
  const { state, step, share } = await ask<RunState>(`/api/runs/${run}/state`);
  if (state !== "reading") return null;
  const far = share === null ? "" : ` (${Math.round(share * 100)} %)`;
  return `${step ?? "Reading"}${far} …`;
}

export interface Watched {
  run: string;
  /** Whether the graph's kernels and links have come. */
  isRead(): Promise<boolean>;
  /** Something else is being read. */
  told(step: string): void;
  /** The graph is read, or nothing more will come. */
  done(): void;
}

/** Follow the reading of a run until the graph is read. Resolves with what is being read at first;
 * null when the run is read: then there is nothing to wait for. */
export async function follow(watched: Watched): Promise<string | null> {
  const first = await stepOf(watched.run);
  if (first === null) return null;
  const look = async (): Promise<void> => {
    try {
      if (await watched.isRead()) return watched.done();
      const step = await stepOf(watched.run);
      if (step === null) return watched.done();
      watched.told(step);
    } catch {
      // The server may be restarting: the next look tries again.
    }
    setTimeout(() => void look(), EVERY_MS);
  };
  setTimeout(() => void look(), EVERY_MS);
  return first;
}
