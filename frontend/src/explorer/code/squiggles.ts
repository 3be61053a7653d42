// Compiler errors at their place in the generated code.
import { type Extension, Facet } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";
import { make } from "../../shared/elements";
import type { CompileError } from "../state/compile-errors";
import { Inserted } from "./elements";
import { firstLine } from "./lit-lines";
import { visibleLines } from "./visible-lines";

const errorsOf = Facet.define<readonly CompileError[], readonly CompileError[]>({
  combine: ([errors]) => errors ?? [],
});

const squiggles = visibleLines((add, { text, from, number }, { state }) => {
  const line = number + state.facet(firstLine) - 1;
  const error = state.facet(errorsOf).find((each) => each.line === line);
  if (!error) return;
  const { start, end, message } = error;
  const [first, last] = end > start ? [start, Math.min(end, text.length)] : [0, text.length];
  const attributes = { title: message };
  if (last > first) {
    add(from + first, from + last, Decoration.mark({ class: "squiggled", attributes }));
  }
});

/** The compiler's message, below its line. */
const messages = EditorView.decorations.compute(["doc", firstLine, errorsOf], (state) => {
  const ranges = state.facet(errorsOf).flatMap(({ line, message }) => {
    const number = line - state.facet(firstLine) + 1;
    if (number < 1 || number > state.doc.lines) return [];
    const widget = new Inserted(message, () => make("div", { class: "compile-error" }, message));
    const below = Decoration.widget({ widget, block: true, side: 1 });
    return [below.range(state.doc.line(number).to)];
  });
  return Decoration.set(ranges, true);
});

export function squiggled(errors: readonly CompileError[]): Extension {
  return errors.length ? [errorsOf.of(errors), squiggles, messages] : [];
}
