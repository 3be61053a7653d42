// What a pane shows: which file and lines, or why there is nothing. Pure.

import { isCompiled, stageNamed } from "../../shared/naming";
import type { GraphPicture, Kernel, KernelCall, StageFile } from "../shapes";
import type { PaneAddress } from "./address";
import { pictured } from "./picture-stages";

export interface CodeContent {
  kind: "code";
  file: StageFile;
  first: number;
  last: number;
  language: string;
  /** The key of these lines in the links. */
  key: string;
  label: string;
  annotated: boolean;
}

export interface EmptyContent {
  kind: "empty";
  what: string;
  why: string;
}

export interface PictureContent {
  kind: "picture";
  /** The stage whose nodes are drawn. */
  of: string;
}

export type Content = CodeContent | EmptyContent | PictureContent;

/** Lines shown around the call of a library kernel. */
const LINES_BEFORE_A_CALL = 12;
const LINES_AFTER_A_CALL = 4;

/** The key in the links of a compiled text of a kernel. */
export function compiledKey(stage: string, kernel: string): string {
  return `${stage}:${kernel}`;
}

function empty(what: string, why: string): EmptyContent {
  return { kind: "empty", what, why };
}

function stillReading(what: string, step: string): Content {
  return empty(
    `The ${what} of this graph are still being read.`,
    `${step} They appear here as soon as they are read.`,
  );
}

function kernelContent(
  picture: GraphPicture,
  file: StageFile,
  title: string,
  kernel: Kernel | null,
  called: KernelCall | null,
): Content {
  if (!kernel && picture.reading) return stillReading("kernels", picture.reading);
  if (!kernel) {
    return empty("This graph has no kernels.", "Its code calls nothing that computes on tensors.");
  }
  const call = called ?? kernel.calls[0];
  if ((kernel.first === null || kernel.last === null) && !call) {
    return empty(`${kernel.name} is not called.`, "Its code is in a library.");
  }
  // An extern kernel's code is in a library, so its call is shown, with the lines around it.
  const at = call?.line ?? 1;
  const generated = kernel.first !== null && kernel.last !== null;
  return {
    kind: "code",
    file,
    first: kernel.first ?? Math.max(1, at - LINES_BEFORE_A_CALL),
    last: kernel.last ?? Math.min(file.lines || at, at + LINES_AFTER_A_CALL),
    language: kernel.kind.startsWith("cpp") ? "cpp" : "python",
    key: "code",
    label: generated
      ? `${title} ${kernel.name}`
      : `Call of ${kernel.name}, whose code is in a library`,
    annotated: false,
  };
}

/** `called`: the kernel's call to show; its first by default. */
export function contentOf(
  picture: GraphPicture,
  pane: PaneAddress,
  kernel: Kernel | null,
  called: KernelCall | null = null,
): Content {
  const stage = picture.stages.find((each) => each.id === pane.stage);
  if (!stage) return empty("This stage is unknown.", "Choose another one above.");
  const compiled = isCompiled(stage.id);
  const wanted = (each: StageFile) =>
    compiled ? each.kernel === kernel?.name : each.path === pane.file;
  const file = stage.files.find(wanted) ?? (compiled ? undefined : stage.files[0]);
  const drawn = pictured(stage.id);
  if (!file) {
    const where = compiled ? `of ${kernel?.name ?? "a kernel"}` : "in this graph";
    const what = drawn ? "Nothing to draw." : `No ${stage.title} ${where}.`;
    return empty(what, stageNamed(drawn ?? stage.id)?.missing ?? "");
  }
  if (drawn && picture.reading) return stillReading("nodes and kernels", picture.reading);
  if (drawn) return { kind: "picture", of: drawn };
  if (stage.id === "kernel") return kernelContent(picture, file, stage.title, kernel, called);
  const code = { kind: "code", file, language: stage.language, annotated: false } as const;
  if (file.kernel) {
    const label = `${stage.title} of ${file.kernel}`;
    return { ...code, first: 1, last: Infinity, key: compiledKey(stage.id, file.kernel), label };
  }
  const ofCode = stage.id === "wrapper" || stage.id === "code";
  return {
    ...code,
    first: file.first || 1,
    last: file.last || file.lines || 1,
    key: ofCode ? "code" : stage.id === "source" ? `source:${file.path}` : stage.id,
    label: `${stage.title} ${file.path}`,
    annotated: stageNamed(stage.id)?.nodes ?? false,
  };
}

/** The file behind a key of the links: of a stage, of a source, or the output code. None for a
 * compiled text of a kernel. */
export function fileOf(picture: GraphPicture, key: string): StageFile | null {
  const path = key.startsWith("source:") ? key.slice("source:".length) : null;
  const files = picture.stages.find((each) => each.id === (path ? "source" : key))?.files ?? [];
  return (path ? files.find((file) => file.path === path) : files[0]) ?? null;
}

/** The lines of a text from first to last, counted from 1, both included; without a last, to the
 * end. */
export function slice(text: string, first: number, last: number): string {
  if (first === 1 && last === Infinity) return text.endsWith("\n") ? text.slice(0, -1) : text;
  const lines = text.split("\n", Number.isFinite(last) ? last : undefined);
  return lines.slice(first - 1).join("\n");
}
