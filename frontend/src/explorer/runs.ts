// Runs of lines that push what one reads out of sight: the head of a scheduler node (dependencies,
// layouts, users), lines of a rebuilt source that no graph names. Folded, a run is one mark that opens
// on a click, and by itself when something in it is kept.
import {
  type EditorState,
  type Extension,
  StateEffect,
  StateField,
  type Text,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";
import { marksField } from "./lines";
import { firstFrom, type Range } from "./selection";

/** Sample: `op3: SchedulerNode(ComputedBuffer)`, `op0_op3: FusedSchedulerNode(SchedulerNode,…)` */
const NODE = /^\w+: \w*SchedulerNode\(/;
/** Where a head ends: `class op3_loop_body:`, `op1.node.kernel = …`, `op0_op3.snodes[0] =` */
const BODY = /^(?:class |\w+\.node\.|\w+\.snodes\b|\w+: |\s*$)/;
/** Fewer lines than this are not worth a fold. */
const LEAST = 3;

/** Lines of a text, counted from 1 and both included. */
export type Run = Range;

export interface Folding {
  runsIn(doc: Text): readonly Run[];
  /** What a mark says of its lines. */
  words: string;
}

function headsOf(lines: Iterable<string>): Run[] {
  const heads: Run[] = [];
  let at = 0;
  let open = 0;
  for (const line of lines) {
    at++;
    if (open && BODY.test(line)) {
      if (at - open >= LEAST) heads.push({ first: open, last: at - 1 });
      open = 0;
    }
    if (NODE.test(line)) open = at + 1;
  }
  return heads;
}

function gapsOf(lines: Iterable<string>): Run[] {
  const gaps: Run[] = [];
  let at = 0;
  let open = 1;
  for (const line of lines) {
    at++;
    if (!line.trim()) continue;
    if (at - open >= LEAST) gaps.push({ first: open, last: at - 1 });
    open = at + 1;
  }
  return gaps;
}

/** Texts are shown again, and have the same runs then. */
function remembered(runsOf: (lines: Iterable<string>) => Run[]): Folding["runsIn"] {
  const known = new WeakMap<Text, readonly Run[]>();
  return (doc) => {
    const runs = known.get(doc) ?? runsOf(doc.iterLines());
    known.set(doc, runs);
    return runs;
  };
}

export const HEADS: Folding = {
  runsIn: remembered(headsOf),
  words: "of dependencies, layouts, users",
};
export const GAPS: Folding = { runsIn: remembered(gapsOf), words: "that no graph names" };

export const opened = StateEffect.define<number>();

export class Mark extends WidgetType {
  private readonly run: Run;
  private readonly words: string;
  private readonly key: string;

  constructor(run: Run, words: string, key = "t") {
    super();
    this.run = run;
    this.words = words;
    this.key = key;
  }

  override eq(other: Mark): boolean {
    return other.run.first === this.run.first && other.run.last === this.run.last;
  }

  override toDOM(view: EditorView): HTMLElement {
    const mark = document.createElement("span");
    mark.className = "folded run";
    mark.textContent = `⋯ ${this.run.last - this.run.first + 1} lines`;
    mark.title = `Lines ${this.words}. Click to show them; ${this.key} shows all.`;
    mark.addEventListener("mousedown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      view.dispatch({ effects: opened.of(this.run.first) });
    });
    return mark;
  }
}

interface Folds {
  runs: readonly Run[];
  open: ReadonlySet<number>;
  /** Positions of the folded ones: hovering makes new marks, and mostly folds nothing else. */
  folded: string;
  shown: DecorationSet;
}

export function foldedRuns({ runsIn, words }: Folding, first: number): Extension {
  const isOpen = (state: EditorState, run: Run, open: ReadonlySet<number>): boolean => {
    if (open.has(run.first)) return true;
    const from = run.first + first - 1;
    const to = run.last + first - 1;
    const holds = (line: number | null) => line !== null && from <= line && line <= to;
    const meets = (range: Range | null) => range && range.first <= to && from <= range.last;
    const { pinned, origin, current } = state.field(marksField);
    const lit = pinned.lines[firstFrom(pinned, from)];
    if (holds(lit ?? null) || meets(origin) || holds(current)) return true;
    const { main } = state.selection;
    const { doc } = state;
    // A match of the search stands selected.
    return !main.empty && main.to >= doc.line(run.first).from && main.from <= doc.line(run.last).to;
  };
  const show = (
    state: EditorState,
    runs: readonly Run[],
    open: ReadonlySet<number>,
    before: Folds | null,
  ): Folds => {
    const closed = runs.filter((run) => !isOpen(state, run, open));
    const folded = closed.map((run) => run.first).join();
    if (folded === before?.folded) return before; // marks are made by the thousand: not for nothing
    const ranges = closed.map((run) =>
      Decoration.replace({ widget: new Mark(run, words) }).range(
        state.doc.line(run.first).from,
        state.doc.line(run.last).to,
      ),
    );
    return { runs, open, folded, shown: Decoration.set(ranges) };
  };
  return StateField.define<Folds>({
    create: (state) => show(state, runsIn(state.doc), new Set(), null),
    update: (folds, transaction) => {
      const { state } = transaction;
      const asked = transaction.effects.flatMap((effect) =>
        effect.is(opened) ? [effect.value] : [],
      );
      const marks = state.field(marksField);
      const before = transaction.startState.field(marksField);
      const changed =
        marks.pinned !== before.pinned ||
        marks.origin !== before.origin ||
        marks.current !== before.current;
      if (!asked.length && !changed && !transaction.selection) return folds;
      return show(state, folds.runs, new Set([...folds.open, ...asked]), folds);
    },
    provide: (field) => EditorView.decorations.from(field, (folds) => folds.shown),
  });
}
