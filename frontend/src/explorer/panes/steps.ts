// The texts of a graph from pass to pass. Pure.
import { stageNamed } from "../../shared/naming";
import type { Stage } from "../shapes";

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
