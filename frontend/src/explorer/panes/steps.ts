// The texts of a graph from pass to pass. Pure.
import { isCompiled, stageNamed } from "../../shared/naming";
import { IR_POST, KERNEL, POST_GRAD, SOURCE, WRAPPER } from "../../shared/vocabulary";
import type { Stage } from "../shapes";

const OF_KERNEL: readonly string[] = [POST_GRAD, IR_POST, WRAPPER, KERNEL];

export interface Step {
  stage: Stage;
  /** The text that passes made it from; null if there is none, or in another language. */
  before: Stage | null;
  /** The stages of the panes that show both. */
  panes: readonly string[];
}

/** FX graphs, then the IR, in the order in which they are made; none if there is only one. */
export function stepsOf(stages: readonly Stage[]): Step[] {
  const isStep = ({ id, language }: Stage) => language === "ir" || stageNamed(id)?.nodes;
  const held = stages.filter((stage) => stage.files.length && isStep(stage));
  const steps = held.map((stage, at) => {
    const before = held[at - 1]?.language === stage.language ? (held[at - 1] ?? null) : null;
    return { stage, before, panes: [...(before ? [before.id] : []), stage.id] };
  });
  return steps.length > 1 ? steps : [];
}

/** What a kernel is made from and compiled to, each beside the source. */
export function stagesOfKernel(stages: readonly Stage[]): Step[] {
  return stages
    .filter(({ id, files }) => files.length && (OF_KERNEL.includes(id) || isCompiled(id)))
    .map((stage) => ({ stage, before: null, panes: [SOURCE, stage.id] }));
}
