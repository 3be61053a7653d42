// Compiler errors in a graph's output code.
import type { FailuresPage } from "../../shared/api";
import { ask } from "../../shared/server";

export interface CompileError {
  /** Line of the output code, and the columns in it. */
  line: number;
  start: number;
  end: number;
  message: string;
  kernel: string;
}

/** The errors located in the code of one graph. */
export async function compileErrors(url: string, graph: string): Promise<CompileError[]> {
  const { failures } = await ask<FailuresPage>(url);
  const errors = failures.flatMap((failure) => failure.errors);
  return errors.flatMap(({ graph: slug, kernel, line, start, end, message }) =>
    slug === graph && line !== null && kernel !== null
      ? [{ line, start: start ?? 0, end: end ?? 0, message, kernel }]
      : [],
  );
}
