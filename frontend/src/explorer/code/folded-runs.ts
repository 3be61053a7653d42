// Folds stretches of lines that push relevant code off the screen: the head of a scheduler node
// (dependencies, layouts, users), and lines of a rebuilt source that no graph names. A folded
// stretch is one mark, which opens on a click, or when something in it is selected.
import {
  type EditorState,
  type Extension,
  StateEffect,
  StateField,
  type Text,
} from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";
import { make } from "../../shared/elements";
import { firstFrom, type Range } from "../state/links";
import type { Marks } from "../state/marks";
import { textOf } from "./documents";
import { Inserted } from "./elements";
import { marksField } from "./lit-lines";

/** Sample: `op3: SchedulerNode(ComputedBuffer)`, `op0_op3: FusedSchedulerNode(SchedulerNode,…)` */
const NODE = /^\w+: \w*SchedulerNode\(/;
const SIGN = "SchedulerNode(";
/** The end of a head: `class op3_loop_body:`, `op1.node.kernel = …`, `op0_op3.snodes[0] =` */
const BODY = /^(?:class |\w+\.node\.|\w+\.snodes\b|\w+: |\s*$)/;
/** Fewer lines are not folded. */
const LEAST = 3;
const LEAST_UNKNOWN = 2;

/** Lines of a text, counted from 1 and both included, and where they begin and end in it. */
export interface Run extends Range {
  from: number;
  to: number;
}

export interface Folding {
  /** `lit`: the highlighted lines of the text. */
  runsIn(doc: Text, lit: () => number[]): readonly Run[];
  /** The label of the mark. */
  words: string;
  /** The key that shows all lines. */
  key: string;
  /** The lines are empty, so their mark does not open. */
  unknown?: boolean;
}

/** The lines of a text, one after the other. Texts have tens of thousands of lines and panes wait
 * for this, so a line is cut out only if it is examined. */
class Lines {
  /** The current line. */
  number = 0;
  from = 0;
  to = -1;

  constructor(readonly text: string) {}

  next(): boolean {
    if (this.to >= this.text.length) return false;
    this.number++;
    this.from = this.to + 1;
    const end = this.text.indexOf("\n", this.from);
    this.to = end < 0 ? this.text.length : end;
    return true;
  }

  get line(): string {
    return this.text.slice(this.from, this.to);
  }
}

/** Stretches start after lines, and end before others. */
class Runs {
  readonly found: Run[] = [];
  private first = 0;
  private from = 0;

  get isOpen(): boolean {
    return this.first > 0;
  }

  /** `first`: the line that begins at `from`. */
  begin(first: number, from: number): void {
    this.first = first;
    this.from = from;
  }

  end({ number, from }: Lines, least = LEAST): void {
    if (number - this.first >= least) {
      this.found.push({ first: this.first, last: number - 1, from: this.from, to: from - 1 });
    }
    this.first = 0;
  }
}

function headsOf(text: string): Run[] {
  const runs = new Runs();
  const lines = new Lines(text);
  let sign = text.indexOf(SIGN);
  while (lines.next() && (sign >= 0 || runs.isOpen)) {
    if (runs.isOpen && BODY.test(lines.line)) runs.end(lines);
    if (sign < 0 || lines.to < sign) continue;
    if (NODE.test(lines.line)) runs.begin(lines.number + 1, lines.to + 1);
    sign = text.indexOf(SIGN, lines.to);
  }
  return runs.found;
}

function gapsOf(text: string): Run[] {
  const runs = new Runs();
  runs.begin(1, 0);
  for (const lines = new Lines(text); lines.next(); ) {
    if (!lines.line.trim()) continue;
    runs.end(lines, LEAST_UNKNOWN);
    runs.begin(lines.number + 1, lines.to + 1);
  }
  return runs.found;
}

/** Cached, because texts are shown repeatedly and their stretches do not change. */
function remembered(runsOf: (text: string) => Run[]): Folding["runsIn"] {
  const known = new WeakMap<Text, readonly Run[]>();
  return (doc) => {
    const runs = known.get(doc) ?? runsOf(textOf(doc));
    known.set(doc, runs);
    return runs;
  };
}

export const HEADS: Folding = {
  runsIn: remembered(headsOf),
  words: "of dependencies, layouts, users",
  key: "t",
};
export const GAPS: Folding = {
  runsIn: remembered(gapsOf),
  words: "that no graph names",
  key: "t",
  unknown: true,
};

const opened = StateEffect.define<string>();

function nameOf({ first, last }: Range): string {
  return `${first}–${last}`;
}

/** What stands for folded lines. */
function mark(run: Range, { words, key }: Folding): Decoration {
  const widget = new Inserted(nameOf(run), (view) => {
    const title = `Lines ${words}. Click to show them; ${key} shows all.`;
    const label = `⋯ ${run.last - run.first + 1} lines`;
    const element = make("span", { class: "folded run", title }, label);
    element.addEventListener("mousedown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      view.dispatch({ effects: opened.of(nameOf(run)) });
    });
    return element;
  });
  return Decoration.replace({ widget });
}

/** Says that a text has missing lines. */
function gap(run: Range): Decoration {
  const title = "No graph quotes these lines, and the file was not uploaded.";
  const words = `${run.last > run.first ? `${nameOf(run)} ` : ""}not in the trace`;
  const widget = new Inserted(words, () => make("span", { class: "gap", title }, words));
  return Decoration.replace({ widget });
}

interface Folds {
  open: ReadonlySet<string>;
  /** Positions of folded stretches: hovering makes new marks, but rarely changes these. */
  folded: string;
  shown: DecorationSet;
}

/** The highlighted lines of a text, counted from 1. */
function litLines({ pinned, origin }: Marks, first: number): number[] {
  const lines = Array.from(pinned.lines, (line) => line - first + 1);
  for (let line = origin?.first ?? 1; line <= (origin?.last ?? 0); line++) {
    lines.push(line - first + 1);
  }
  return lines.sort((one, other) => one - other);
}

export function foldedRuns(folding: Folding, first: number): Extension {
  const isOpen = (state: EditorState, run: Run, open: ReadonlySet<string>): boolean => {
    if (folding.unknown) return false;
    if (open.has(nameOf(run))) return true;
    const from = run.first + first - 1;
    const to = run.last + first - 1;
    const holds = (line: number | null) => line !== null && from <= line && line <= to;
    const meets = (range: Range | null) => range && range.first <= to && from <= range.last;
    const { pinned, origin, current } = state.field(marksField);
    const lit = pinned.lines[firstFrom(pinned, from)];
    if (holds(lit ?? null) || meets(origin) || holds(current)) return true;
    const { main } = state.selection;
    // A match of the search is selected.
    return !main.empty && main.to >= run.from && main.from <= run.to;
  };
  const show = (state: EditorState, open: ReadonlySet<string>, before: Folds | null): Folds => {
    const runs = folding.runsIn(state.doc, () => litLines(state.field(marksField), first));
    const closed = runs.filter((run) => !isOpen(state, run, open));
    const folded = closed.map(nameOf).join();
    if (folded === before?.folded) return before; // there are thousands of marks
    const ranges = closed.map((run) =>
      (folding.unknown ? gap(run) : mark(run, folding)).range(run.from, run.to),
    );
    return { open, folded, shown: Decoration.set(ranges) };
  };
  return StateField.define<Folds>({
    create: (state) => show(state, new Set(), null),
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
      return show(state, new Set([...folds.open, ...asked]), folds);
    },
    provide: (field) => EditorView.decorations.from(field, (folds) => folds.shown),
  });
}
