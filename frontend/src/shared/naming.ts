// Looks up entries of the vocabulary: stages, categories of kernels, certainties. Pure.
import {
  CATEGORIES,
  CERTAINTIES,
  type CertaintyEntry,
  HOST_WORK,
  KERNEL_KINDS,
  STAGES,
  type StageEntry,
  WORKS,
} from "./vocabulary";

const STAGE_BY_ID = new Map(STAGES.map((stage) => [stage.id, stage]));
const HUE_OF_WORK = new Map(WORKS.map(({ id, hue }) => [id, hue]));
const CATEGORY_BY_ID = new Map(
  [...CATEGORIES, ...HOST_WORK].map((category) => [category.id, category]),
);

export function stageNamed(id: string): StageEntry | null {
  return STAGE_BY_ID.get(id) ?? null;
}

export function titleOf(stage: string): string {
  return STAGE_BY_ID.get(stage)?.title ?? stage;
}

/** Whether a stage shows a compiled text of one kernel. */
export function isCompiled(stage: string): boolean {
  return Boolean(STAGE_BY_ID.get(stage)?.ending);
}

/** Stages whose lines name entities of this kind. */
export function naming(names: StageEntry["names"]): Set<string> {
  return new Set(STAGES.filter((stage) => stage.names === names).map(({ id }) => id));
}

export function certainty(level: number): CertaintyEntry | null {
  return CERTAINTIES.find((each) => each.level === level) ?? null;
}

export function categoryTitle(category: string): string {
  return CATEGORY_BY_ID.get(category)?.title ?? category.replaceAll("_", " ");
}

/** "Triton pointwise", "combo kernel, Triton reduction". */
export function kernelTitle(kind: string, category: string): string {
  const title = categoryTitle(category);
  return KERNEL_KINDS[kind] ? `${KERNEL_KINDS[kind]}, ${title}` : title;
}

/** The colour of a category. Its title is always shown too, because colour must not be the only
 * sign. */
export function hueOf(category: string): string {
  return CATEGORY_BY_ID.get(category)?.hue ?? "other";
}

/** The colour of a phase of compiling, by the kind of its work. */
export function workHue(work: string): string {
  return HUE_OF_WORK.get(work) ?? "edge";
}
