// The views of one pane that a walk leads through: a kernel pane's kernels, a source pane's files.
import type { Explorer } from "../explorer";
import { linesOfKernel } from "../state/follow";
import { EVERY_CALL } from "../state/links";
import type { View } from "../state/walk";
import type { Pane } from "./pane";

export function viewsOf(explorer: Explorer, pane: Pane): View[] {
  const { selected, index } = explorer;
  if (!selected) return [];
  const { stage, file } = pane.address;
  const shown = {
    pane,
    kernel: null,
    file: null,
    matches: explorer.lighting.matchesOf(pane, selected),
    origin: explorer.lighting.originIn(pane),
  };
  if (stage === "kernel" && !selected.wholeKernel) {
    const of = (call: number) => index.matches(selected, "code", call);
    const [every, chosen] = [of(EVERY_CALL), of(explorer.call())];
    return explorer.computing().flatMap((kernel) => {
      if (kernel.first === null) return [];
      const all = kernel === explorer.kernel ? chosen : every;
      const { origin } = shown;
      return [{ pane, kernel, file: null, matches: linesOfKernel(all, kernel), origin }];
    });
  }
  const files = stage === "source" ? (pane.stage?.files ?? []) : [];
  if (files.length < 2) return [shown];
  return files.map(({ path }) => ({
    pane,
    kernel: null,
    file: path,
    matches: index.matches(selected, `source:${path}`),
    origin: path === file ? shown.origin : null,
  }));
}
