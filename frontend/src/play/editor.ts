// The editor of the playground: code with the colours that its lines share with the explorer's
// panes.
import { autocompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { Compartment, EditorSelection, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { coloured } from "../explorer/code/colour";
import { litLines, numbers, setMarks } from "../explorer/code/lit-lines";
import { squiggled } from "../explorer/code/squiggles";
import { type TintOf, tinted } from "../explorer/code/tinted";
import { type Marks, NO_MARKS } from "../explorer/state/marks";
import { PLAIN } from "../explorer/state/tints";
import { LOOK } from "../shared/look";
import { completing, type Names } from "./completion";

const INDENT = "    ";

/** Start a line as deep as the caret's; deeper after one that ends in a colon. */
function newLine({ state, dispatch }: EditorView): boolean {
  const change = state.changeByRange(({ from, to }) => {
    const line = state.doc.lineAt(from);
    const before = line.text.slice(0, from - line.from);
    const own = /^[ \t]*/.exec(before)?.[0] ?? "";
    const insert = `\n${own}${/:[ \t]*(#.*)?$/.test(before) ? INDENT : ""}`;
    return { changes: { from, to, insert }, range: EditorSelection.cursor(from + insert.length) };
  });
  dispatch(state.update(change, { scrollIntoView: true, userEvent: "input" }));
  return true;
}

interface EditorEvents {
  compile(): void;
  edited(): void;
  /** The caret moved to a line of the code that was compiled last. */
  reached(line: number): void;
}

export class Editor {
  readonly view: EditorView;
  private readonly tints = new Compartment();
  private readonly errors = new Compartment();
  private readonly names = new Compartment();
  /** Lines of the code that was compiled last. */
  private compiled: readonly string[] = [];

  constructor(parent: HTMLElement, text: string, events: EditorEvents, language = "python") {
    const compile = () => {
      events.compile();
      return true;
    };
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorView.contentAttributes.of({
            "aria-label": "Code. Ctrl-Enter compiles; Escape, then Tab, leaves the editor.",
            spellcheck: "false",
            autocapitalize: "off",
            tabindex: "0", // its scrollable part is reachable by keyboard
          }),
          EditorState.tabSize.of(4),
          history(),
          Prec.highest(keymap.of([{ key: "Mod-Enter", run: compile }])),
          keymap.of([
            { key: "Enter", run: newLine },
            ...historyKeymap,
            indentWithTab,
            ...defaultKeymap,
          ]),
          LOOK,
          numbers,
          litLines,
          coloured(language),
          this.tints.of([]),
          this.errors.of([]),
          this.names.of([]),
          EditorView.updateListener.of(({ docChanged, selectionSet, state }) => {
            if (docChanged) {
              this.mark(NO_MARKS);
              events.edited();
            } else if (selectionSet && this.isAsCompiled) {
              events.reached(state.doc.lineAt(state.selection.main.head).number);
            }
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  set text(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
    this.showError(null, "");
  }

  /** Put the caret on a line and scroll to it. */
  reach(line: number): void {
    const { doc } = this.view.state;
    const anchor = doc.line(Math.min(Math.max(line, 1), doc.lines)).from;
    const effects = EditorView.scrollIntoView(anchor, { y: "center" });
    this.view.dispatch({ selection: { anchor }, effects });
  }

  get caretLine(): number {
    const { doc, selection } = this.view.state;
    return doc.lineAt(selection.main.head).number;
  }

  private get isAsCompiled(): boolean {
    return this.text === this.compiled.join("\n");
  }

  /** Colour the lines of the compiled code; lines edited since lose their colour. */
  colour(text: string, tintOf: TintOf): void {
    this.compiled = text.split("\n");
    const current: TintOf = (line) => {
      const number = this.compiledLine(line);
      return number === null ? PLAIN : tintOf(number);
    };
    this.view.dispatch({ effects: this.tints.reconfigure(tinted(current)) });
  }

  /** The nearest line of the compiled code with the same text. */
  private compiledLine(line: number): number | null {
    const { text } = this.view.state.doc.line(line);
    let nearest: number | null = null;
    this.compiled.forEach((each, at) => {
      const closer = nearest === null || Math.abs(at + 1 - line) < Math.abs(nearest - line);
      if (each === text && closer) nearest = at + 1;
    });
    return nearest;
  }

  mark(marks: Marks): void {
    if (this.isAsCompiled || marks === NO_MARKS) {
      this.view.dispatch({ effects: setMarks.of(marks) });
    }
  }

  complete(names: Names): void {
    const source = autocompletion({ override: [completing(names)], icons: false });
    this.view.dispatch({ effects: this.names.reconfigure(source) });
  }

  /** Returns whether that line is here. */
  showError(line: number | null, message: string): boolean {
    const { doc } = this.view.state;
    const inside = line !== null && line >= 1 && line <= doc.lines;
    const errors = inside ? [{ line, start: 0, end: 0, message, kernel: "" }] : [];
    this.view.dispatch({ effects: this.errors.reconfigure(squiggled(errors)) });
    return inside;
  }
}
