// The pictures of a graph as stages, in addition to the texts. Pure.
import { STAGES } from "../../shared/vocabulary";
import type { Stage } from "../shapes";

/** A picture's stage, and the stage whose lines are its nodes. */
const PICTURES = STAGES.flatMap(({ id, picture }) =>
  picture ? [[picture.id, picture.title, id] as const] : [],
);

/** The stage that a picture shows; null if the stage is not a picture. */
export function pictured(stage: string): string | null {
  return PICTURES.find(([id]) => id === stage)?.[2] ?? null;
}

/** Stages that can be shown: those with texts on the server, and their pictures. */
export function withPictures(stages: readonly Stage[]): Stage[] {
  const pictures = PICTURES.map(([id, title, of]) => {
    const files = stages.find((stage) => stage.id === of)?.files ?? [];
    return { id, title, language: "picture", files };
  });
  return [...stages, ...pictures];
}
