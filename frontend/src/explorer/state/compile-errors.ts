// Compiler errors in a graph's output code.
import type { FailuresPage, PlacedError } from "../../shared/api";
import { ask } from "../../shared/server";

/** Its line of the output code, the columns in it, and what is wrong there. */
export type CompileError = Pick<PlacedError, "line" | "start" | "end" | "message" | "kernel">;

/** The errors located in the code of one graph. */
export async function compileErrors(url: string, graph: string): Promise<CompileError[]> {
  const { failures } = await ask<FailuresPage>(url);
  return failures.flatMap(({ errors }) => errors.filter((error) => error.graph === graph));
}
