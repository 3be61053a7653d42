// Folds everything but highlighted lines and a few around them, for files in which a selection is
// ten lines out of twenty thousand.
import type { EditorState, Extension } from "@codemirror/state";
import { StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";
import type { Range } from "../state/links";
import type { Marks } from "../state/marks";
import { mark, opened } from "./folded-runs";
import { marksField } from "./lit-lines";

/** Lines that stay before and after a highlighted one. */
const AROUND = 2;
/** Fewer lines are not folded. */
const LEAST = 3;

/** The stretches between lines that stay; none if nothing is highlighted. Lines count from 1. */
export function restOf(lit: Iterable<number>, count: number): Range[] {
  const runs: Range[] = [];
  let next = 1;
  let any = false;
  for (const line of lit) {
    if (line < 1 || line > count) continue;
    any = true;
    if (line - AROUND - next >= LEAST) runs.push({ first: next, last: line - AROUND - 1 });
    next = Math.max(next, line + AROUND + 1);
  }
  if (any && count + 1 - next >= LEAST) runs.push({ first: next, last: count });
  return any ? runs : [];
}

function litLines(marks: Marks, first: number): number[] {
  const lines = Array.from(marks.pinned.lines, (line) => line - first + 1);
  if (marks.origin) {
    for (let line = marks.origin.first; line <= marks.origin.last; line++) {
      lines.push(line - first + 1);
    }
  }
  return lines.sort((one, other) => one - other);
}

interface Rest {
  open: ReadonlySet<number>;
  shown: DecorationSet;
}

export function foldedRest(first: number): Extension {
  const show = (state: EditorState, open: ReadonlySet<number>): Rest => {
    const { doc } = state;
    const { main } = state.selection;
    const runs = restOf(litLines(state.field(marksField), first), doc.lines);
    const ranges = [];
    for (const run of runs) {
      const [from, to] = [doc.line(run.first).from, doc.line(run.last).to];
      const found = !main.empty && main.to >= from && main.from <= to; // a match of the search
      if (open.has(run.first) || found) continue;
      ranges.push(mark(run, "that the selection does not light", "o").range(from, to));
    }
    return { open, shown: Decoration.set(ranges) };
  };
  return StateField.define<Rest>({
    create: (state) => show(state, new Set()),
    update: (rest, transaction) => {
      const { state, startState } = transaction;
      const marks = state.field(marksField);
      const before = startState.field(marksField);
      const moved = marks.pinned !== before.pinned || marks.origin !== before.origin;
      const asked = transaction.effects.flatMap((effect) =>
        effect.is(opened) ? [effect.value] : [],
      );
      if (!moved && !asked.length && !transaction.selection) return rest;
      return show(state, moved ? new Set() : new Set([...rest.open, ...asked]));
    },
    provide: (field) => EditorView.decorations.from(field, (rest) => rest.shown),
  });
}
