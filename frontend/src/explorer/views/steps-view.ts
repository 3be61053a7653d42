// The texts of the graph from pass to pass, as a row of steps, each with how much it differs from
// the step before.
import { button, make, scrollWithin } from "../../shared/elements";
import { inSlices, whenIdle } from "../../shared/frames";
import { differences, level } from "../code/level";
import { withoutNoise } from "../code/noise";
import { levelLines } from "../panes/compare";
import { type Step, stagesOfKernel, stepsOf } from "../panes/steps";
import type { ViewHost } from "./host";

/** Most lines of two texts that are compared without being asked. */
const MOST = 30_000;

export class StepsView {
  private readonly steps: { step: Step; entry: HTMLElement }[] = [];

  constructor(private readonly host: ViewHost) {
    const row = host.root.querySelector<HTMLElement>(".pass-steps"); // not there beside an editor
    if (!row) return;
    const ofKernel = row.dataset.of === "kernel";
    const steps = (ofKernel ? stagesOfKernel : stepsOf)(host.state.picture.stages);
    this.steps = steps.map((step) => {
      const shown = () => void host.showStages(step.panes, !ofKernel);
      return { step, entry: button(step.stage.title, { class: "segment" }, shown) };
    });
    row.append(...this.steps.map(({ entry }) => entry));
    row.hidden = !this.steps.length;
    whenIdle(() => void this.count());
  }

  /** Mark the step that the panes show. */
  show(): void {
    const shown = this.host.state.panes.map(({ stage }) => stage).join();
    for (const { step, entry } of this.steps) {
      const isShown = step.panes.join() === shown;
      entry.setAttribute("aria-pressed", String(isShown));
      if (isShown && entry.parentElement) scrollWithin(entry.parentElement, entry);
    }
  }

  private async count(): Promise<void> {
    for (const { step, entry } of this.steps) {
      const { before, stage } = step;
      const lines = [before, stage].map((each) => each?.files[0]?.lines ?? 0);
      if (!before || Math.max(...lines) > MOST) continue;
      const texts = [before, stage].map(async ({ id }) =>
        inSlices(levelLines(this.host.state.index, id, await this.host.stageLines(id))),
      );
      const [left, right] = await Promise.all(texts).catch(() => []);
      if (this.host.ended.aborted) return;
      if (!left || !right) continue;
      const all = await inSlices(level(left, right));
      const [one, other] = await inSlices(withoutNoise(all, [left, right]));
      const [less, more] = [one, other].map(({ only, changed }) => only.size + changed.size);
      const counts = [more && `+${more}`, less && `−${less}`].filter(Boolean).join(" ");
      const moved = one.moved.size ? `↕${one.moved.size}` : "=";
      const words = differences(one, other) || "no line differs";
      entry.title = `Beside ${before.title}: ${words}, apart from comments, paths and numbers`;
      entry.append(" ", make("span", { class: "num" }, counts || moved));
      entry.classList.toggle("faint", !counts && moved === "=");
    }
  }
}
