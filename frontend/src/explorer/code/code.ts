// A read-only code view on CodeMirror: text with the artifact's line numbers, highlighted lines, a
// ruler, a caret that moves by keyboard.
import { standardKeymap } from "@codemirror/commands";
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import {
  Compartment,
  EditorState,
  type Extension,
  type StateEffect,
  type Text,
} from "@codemirror/state";
import { EditorView, highlightActiveLineGutter, keymap } from "@codemirror/view";
import type { CompileError } from "../state/compile-errors";
import { isDark, type Marks, NO_MARKS } from "../state/marks";
import { coloured } from "./colour";
import { docOf } from "./documents";
import { type Coming, exchange, type Goal, LASTING, scrollTo } from "./exchange";
import { REST } from "./folded-rest";
import { foldedRuns, GAPS, HEADS } from "./folded-runs";
import { foldedAnnotations } from "./folded-types";
import { heatStrip, setHeat, type WarmthOf } from "./heat";
import { narrowIndents, partKept } from "./indent";
import type { Side } from "./level";
import { levelled } from "./level-view";
import { firstLine, nameAt, setMarks, setName } from "./lit-lines";
import { Ruler } from "./ruler";
import { ScrollPosition } from "./scroll-position";
import { squiggled } from "./squiggles";
import { type TintOf, tinted } from "./tinted";

export interface CodeEvents {
  hovered(line: number | null): void;
  /** The caret was moved to a line by keyboard. */
  reached(line: number): void;
  /** The caret is at a name, or at none. */
  named?(name: string): void;
  /** `extend`: select from the selected line to this one. */
  clicked(line: number, extend: boolean): void;
}

export interface CodeText {
  text: string;
  /** The number of the text's first line in the artifact. */
  first: number;
  language: string;
  label: string;
  annotated: boolean;
  /** Whether it is rebuilt from stack comments, so that most lines are empty. */
  rebuilt: boolean;
  /** Whether a strip next to the lines shows their cost. */
  timed: boolean;
  /** The colour that a line shares with lines of other panes. */
  tintOf?: TintOf;
  errors?: readonly CompileError[];
}

export interface CodeOptions {
  folded: boolean;
  wrapped: boolean;
  /** Show only highlighted lines, and a few around them. */
  only: boolean;
}

/** A line to scroll to; horizontally too, if only its indentation would be visible. */
export interface Aim {
  line: number;
  sideways: boolean;
}

export class Code {
  private made: EditorView | null = null;
  /** Applied with the first highlighted lines, so that the view is drawn once, not twice. */
  private coming: Coming | null = null;
  private scrolled = new ScrollPosition(null);
  readonly ruler: Ruler;
  private readonly folding = new Compartment();
  private readonly wrapping = new Compartment();
  private shown: CodeText | null = null;
  private marks: Marks = NO_MARKS;
  private frame = 0;
  /** Where reading of a new text begins, until the first marks arrive. */
  private start: number | null = null;
  /** Last known width for text. */
  private room = 0;
  private side: Side | null = null;

  constructor(
    private readonly parent: HTMLElement,
    private readonly events: CodeEvents,
  ) {
    this.ruler = new Ruler((line) => this.reveal(line, true));
    parent.append(this.ruler.element);
  }

  /** Created when the first text is shown: an empty view would be laid out for nothing. */
  get view(): EditorView {
    if (this.coming) this.put([], null);
    if (!this.made) throw new Error("No text is shown yet.");
    return this.made;
  }

  /** The text that the view shows, or is about to show. */
  private get doc(): Text {
    return this.coming?.doc ?? this.view.state.doc;
  }

  private listen({ dom, scrollDOM }: EditorView): void {
    dom.addEventListener("mousemove", (event) => {
      const { clientY } = event;
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(() => this.events.hovered(this.lineAtHeight(clientY)));
    });
    dom.addEventListener("mouseleave", () => {
      cancelAnimationFrame(this.frame);
      this.events.hovered(null);
    });
    // No `click`: highlighting redraws lines between press and release, and the browser fires no
    // click if the pressed element is gone.
    scrollDOM.addEventListener("mousedown", (pressed) => {
      if (pressed.button !== 0) return;
      const line = this.lineAtHeight(pressed.clientY);
      const released = (event: MouseEvent) => {
        const still =
          Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) < 5;
        if (!still || line === null || event.detail > 1) return;
        const { main } = this.view.state.selection;
        if (!main.empty || event.shiftKey)
          this.view.dispatch({ selection: { anchor: main.anchor } });
        this.events.clicked(line, event.shiftKey);
      };
      window.addEventListener("mouseup", released, { once: true });
    });
  }

  private lineAtHeight(clientY: number): number | null {
    const { view } = this;
    const height = clientY - view.documentTop;
    if (!this.shown || height < 0 || height > view.contentHeight) return null;
    const block = view.lineBlockAtHeight(height);
    return view.state.doc.lineAt(block.from).number + this.shown.first - 1;
  }

  /** Show a text, scrolled to a line or to its first. */
  show(shown: CodeText, options: CodeOptions, start: number | null): void {
    this.shown = shown;
    this.side = null;
    this.start = start ?? shown.first;
    this.marks = NO_MARKS;
    const doc = docOf(shown.text);
    this.coming = { doc, extensions: this.extensions(shown, options), effects: [] };
    this.ruler.show(this.marks, shown.first, doc.lines);
  }

  /** Apply pending changes in one transaction, because each one costs a layout. */
  private put(effects: readonly StateEffect<unknown>[], aim: Aim | null = null): void {
    const goal = this.goalOf(aim);
    const { coming, made } = this;
    this.coming = null;
    if (!coming) this.view.dispatch({ effects: goal ? [...effects, scrollTo(goal)] : effects });
    else if (!made) this.make(coming, effects, goal);
    else {
      exchange(made, { ...coming, effects: [...coming.effects, ...effects] }, goal);
      this.scrolled.forget();
    }
  }

  private make(
    { doc, extensions, effects: before }: Coming,
    effects: readonly StateEffect<unknown>[],
    goal: Goal | null,
  ): void {
    const { state } = EditorState.create({ doc, extensions }).update({
      effects: [...before, ...effects],
    });
    this.made = new EditorView(goal ? { state, scrollTo: scrollTo(goal) } : { state });
    this.parent.prepend(this.made.dom);
    this.scrolled = new ScrollPosition(this.made.scrollDOM);
    this.listen(this.made);
  }

  private extensions(shown: CodeText, options: CodeOptions): Extension {
    return [
      EditorState.readOnly.of(true),
      EditorView.contentAttributes.of({
        "aria-label": shown.label,
        "aria-readonly": "true",
        tabindex: "0",
        inputmode: "none",
        spellcheck: "false",
      }),
      firstLine.of(shown.first),
      highlightActiveLineGutter(),
      search({ top: true }),
      keymap.of([...searchKeymap, ...standardKeymap]),
      LASTING,
      coloured(shown.language),
      narrowIndents(shown.language),
      shown.timed ? heatStrip : [],
      shown.tintOf ? tinted(shown.tintOf) : [],
      squiggled(shown.errors ?? []),
      this.folding.of(this.folds(shown, options)),
      this.wrapping.of(this.wraps(shown, options)),
      EditorView.updateListener.of((update) => {
        if (!update.selectionSet || !this.view.hasFocus) return;
        this.events.named?.(nameAt(update.state));
        const byKeys = update.transactions.some(
          (each) => each.isUserEvent("select") && !each.isUserEvent("select.pointer"),
        );
        if (byKeys) this.events.reached(this.caretLine());
      }),
    ];
  }

  private folds(shown: CodeText | null, options: CodeOptions): Extension {
    if (this.side) return levelled(this.side); // folded lines would break the alignment
    if (shown && options.only) {
      const types = options.folded && shown.annotated ? foldedAnnotations : [];
      return [foldedRuns(REST, shown.first), types];
    }
    if (!shown || !options.folded) return [];
    if (shown.language === "ir") return foldedRuns(HEADS, shown.first);
    if (shown.rebuilt) return foldedRuns(GAPS, shown.first);
    return shown.annotated ? foldedAnnotations : [];
  }

  /** A rebuilt source has room to show its few lines whole. */
  private wraps(shown: CodeText | null, options: CodeOptions): Extension {
    const wrapped = (options.wrapped || shown?.rebuilt) && !this.side;
    return wrapped ? EditorView.lineWrapping : [];
  }

  warm(heat: WarmthOf): void {
    if (!this.shown?.timed) return;
    if (this.coming) this.coming.effects.push(setHeat.of(heat));
    else this.view.dispatch({ effects: setHeat.of(heat) });
  }

  adjust(options: CodeOptions): void {
    const at = this.positionOf(this.lineToKeep(options));
    this.view.dispatch({
      effects: [
        this.folding.reconfigure(this.folds(this.shown, options)),
        this.wrapping.reconfigure(this.wraps(this.shown, options)),
        scrollTo({ at, how: { y: "center" } }),
      ],
    });
  }

  /** The line that stays in sight when others are folded or wrapped: the one in the middle, or else
   * the highlighted one next to it, which is never folded. */
  private lineToKeep({ only }: CodeOptions): number {
    const middle = this.middleLine();
    let kept: number | null = null;
    for (const line of this.marks.pinned.lines) {
      if (kept === null || Math.abs(line - middle) < Math.abs(kept - middle)) kept = line;
    }
    return kept !== null && (only || this.inSight(kept)) ? kept : middle;
  }

  middleLine(): number {
    const { top, height } = this.scrolled.seen();
    const { from } = this.view.lineBlockAtHeight(top + height / 2);
    return this.doc.lineAt(from).number + (this.shown?.first ?? 1) - 1;
  }

  /** Start or stop aligning lines with another view. */
  level(side: Side | null, options: CodeOptions): void {
    this.side = side;
    this.adjust(options);
  }

  /** Highlight lines, and scroll to one. All in one transaction, because each one costs a
   * layout. */
  mark(marks: Marks, aim: Aim | null = null): void {
    if (!this.shown) return;
    const dark = isDark(marks) && isDark(this.marks);
    if (dark && !aim && this.start === null) return; // nothing is highlighted, as before
    this.marks = marks;
    this.put([setMarks.of(marks)], aim);
    this.start = null;
    this.ruler.show(marks, this.shown.first, this.doc.lines);
  }

  /** The artifact's line at the caret. */
  caretLine(): number {
    if (this.coming) return this.shown?.first ?? 1;
    const { state } = this.view;
    return state.doc.lineAt(state.selection.main.head).number + (this.shown?.first ?? 1) - 1;
  }

  holds(line: number): boolean {
    if (!this.shown) return false;
    return line >= this.shown.first && line < this.shown.first + this.doc.lines;
  }

  text(line: number): string | null {
    if (!this.holds(line)) return null;
    return this.doc.line(line - (this.shown?.first ?? 1) + 1).text;
  }

  private positionOf(line: number): number {
    const { doc } = this;
    const wanted = line - (this.shown?.first ?? 1) + 1;
    return doc.line(Math.min(Math.max(1, wanted), doc.lines)).from;
  }

  inSight(line: number): boolean {
    return this.anyInSight([line]);
  }

  /** Whether one of these lines is visible. */
  anyInSight(lines: readonly number[]): boolean {
    if (this.start !== null || this.scrolled.isMoving) return false;
    const { top, height } = this.scrolled.seen();
    if (!height) return false; // in a hidden tab
    return lines.some((line) => {
      if (!this.holds(line)) return false;
      const block = this.view.lineBlockAt(this.positionOf(line));
      if (block.top < top || block.bottom > top + height) return false;
      return this.textInSight(line);
    });
  }

  /** Scroll to a line, unless it is already visible. */
  reveal(line: number, always = false): void {
    if (!this.holds(line) || (!always && this.inSight(line))) return;
    this.put([], this.aimAt(line));
  }

  /** How to scroll to a line. Reads the layout, so call it before changing anything. */
  aimAt(line: number): Aim {
    return { line, sideways: !this.textInSight(line) };
  }

  /** The position to scroll to: the requested line, or the start of a new text. */
  private goalOf(aim: Aim | null): Goal | null {
    if (aim && this.holds(aim.line)) return this.towards(aim);
    const { start, made } = this;
    if (start === null || (!made && start === this.shown?.first)) return null;
    return { at: this.positionOf(start), how: { y: "start", yMargin: 24 } }; // near the upper edge
  }

  private towards({ line, sideways }: Aim): Goal {
    const at = this.positionOf(line);
    if (!sideways) return { at, how: { y: "center" } };
    // Without a view, the width is unknown: then scroll only to where the line begins.
    const along = this.made
      ? { x: "start" as const, xMargin: this.roomBefore(line) }
      : { x: "nearest" as const, xMargin: 160 };
    return { at: at + this.indentOf(line), how: { y: "center", ...along } };
  }

  /** The column to keep visible left of a deeply indented line: where the least indented line
   * around it begins, so that none is cut at the left, unless that leaves the line less than half
   * of the pane. */
  private roomBefore(line: number): number {
    const around = Math.ceil(
      this.scrolled.seen().height / (this.made?.defaultLineHeight ?? 20) / 2,
    );
    let least = this.indentOf(line);
    for (let other = line - around; other <= line + around && least > 0; other++) {
      if (this.text(other)?.trim()) least = Math.min(least, this.indentOf(other));
    }
    return Math.min(this.widthOf(this.indentOf(line) - least), this.room / 2);
  }

  /** Width of this many spaces of indentation. */
  private widthOf(spaces: number): number {
    const { made } = this; // not `view`, which applies pending changes
    return spaces * (made?.defaultCharacterWidth ?? 7.2) * partKept(this.shown?.language ?? "");
  }

  private indentOf(line: number): number {
    return /^ */.exec(this.text(line) ?? "")?.[0].length ?? 0;
  }

  /** Whether a deeply indented line shows its text, and not only the indentation. */
  private textInSight(line: number): boolean {
    const { made } = this;
    if (!made) return false;
    if (made.lineWrapping) return true;
    const { left, width } = this.scrolled.seen();
    if (!width) return true; // hidden tabs cannot scroll
    const start = this.widthOf(this.indentOf(line));
    if (this.start !== null && this.room) return start <= this.room / 2; // not laid out yet
    this.room = width - this.scrolled.gutter();
    return start >= left && start <= left + this.room / 2;
  }

  name(name: string): void {
    this.made?.dispatch({ effects: setName.of(name) });
  }

  placeCaret(line: number): void {
    if (this.holds(line)) this.view.dispatch({ selection: { anchor: this.positionOf(line) } });
  }

  focus(): void {
    this.view.focus();
  }

  find(): void {
    openSearchPanel(this.view);
  }

  close(): void {
    this.ruler.close();
    this.scrolled.close();
    this.made?.destroy();
  }
}
