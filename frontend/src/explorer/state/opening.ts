// Chooses what a page opens on if its address selects nothing: a line that leads through to a
// kernel. Pure.
import { POST_GRAD } from "../../shared/vocabulary";
import type { GraphPicture } from "../shapes";
import type { Target } from "./address";
import type { CompileError } from "./compile-errors";
import { kernelsOf } from "./follow";
import type { LinkIndex } from "./links";

/** Most lines of one text to examine. */
const MOST = 200;

/** The line that does not compile, or the user's most expensive line if times are known, or the
 * first line that a kernel computes. */
export function openingTarget(
  picture: GraphPicture,
  index: LinkIndex,
  errors: readonly CompileError[],
): Target | null {
  const [error] = errors;
  if (error) return { stage: "kernel", line: error.line };
  const { opens } = picture;
  if (opens && index.linkedLines(`source:${opens.path}`).includes(opens.line)) {
    return { stage: "source", file: opens.path, line: opens.line };
  }
  const files = picture.stages.find(({ id }) => id === "source")?.files ?? [];
  for (const { path } of files) {
    const line = firstComputed(picture, index, `source:${path}`);
    if (line !== null) return { stage: "source", file: path, line };
  }
  const line = firstComputed(picture, index, POST_GRAD);
  return line === null ? null : { stage: POST_GRAD, line };
}

function firstComputed(picture: GraphPicture, index: LinkIndex, key: string): number | null {
  const lines = index.linkedLines(key).slice(0, MOST);
  const computed = lines.find((line) => {
    const code = index.matches(index.selectLine(key, line), "code");
    return kernelsOf(picture, code).some(({ first }) => first !== null);
  });
  return computed ?? null;
}
