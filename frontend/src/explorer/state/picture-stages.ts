// The pictures of a graph as stages beside those that are texts. Pure.
import { STAGES } from "../../shared/vocabulary";
import type { Stage } from "../shapes";

/** A picture's stage, and the stage whose lines its nodes are. */
const PICTURES = STAGES.flatMap(({ id, picture }) =>
  picture ? [[picture.id, picture.title, id] as const] : [],
);

/** The stage that a picture is of; null when the stage is none. */
export function pictured(stage: string): string | null {
  return PICTURES.find(([id]) => id === stage)?.[2] ?? null;
}

/** Stages that can be looked at: those that the server has texts of, and their pictures. */
export function withPictures(stages: readonly Stage[]): Stage[] {
  const pictures = PICTURES.map(([id, title, of]) => {
    const files = stages.find((stage) => stage.id === of)?.files ?? [];
    return { id, title, language: "picture", files };
  });
  return [...stages, ...pictures];
}
