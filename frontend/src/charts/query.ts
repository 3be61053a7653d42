// The field of a query: an editor that completes tables, columns and words of SQL. Without
// scripts it stays a plain field.
import { autocompletion, type Completion, completeFromList } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { LOOK } from "../shared/look";

const WORDS = `SELECT FROM WHERE GROUP BY ORDER LIMIT HAVING JOIN LEFT ON USING AS DISTINCT DESC WITH
  AND OR NOT IN LIKE IS NULL CASE WHEN THEN ELSE END count sum avg min max median round`;

function named(detail: string): Completion[] {
  const names = document.querySelectorAll(`[data-names="${detail}"] code`);
  const labels = new Set([...names].map((name) => name.textContent ?? ""));
  return [...labels].map((label) => ({ label, detail }));
}

/** Puts an editor in the field's place, which still sends the query. */
export function startQuery(): void {
  const field = document.querySelector<HTMLTextAreaElement>("textarea.sql");
  if (!field) return;
  const words = WORDS.split(/\s+/).map((label) => ({ label, boost: -1 }));
  const known = [...named("table"), ...named("column"), ...words];
  const send = () => {
    field.form?.requestSubmit();
    return true;
  };
  const parent = document.createElement("div");
  parent.className = "panel sql-editor";
  field.before(parent);
  field.hidden = true;
  new EditorView({
    parent,
    state: EditorState.create({
      doc: field.value,
      extensions: [
        EditorView.contentAttributes.of({ "aria-label": "Query", spellcheck: "false" }),
        EditorView.lineWrapping,
        history(),
        placeholder(field.placeholder),
        autocompletion({ override: [completeFromList(known)], icons: false }),
        keymap.of([{ key: "Mod-Enter", run: send }, ...historyKeymap, ...defaultKeymap]),
        LOOK,
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (docChanged) field.value = state.doc.toString();
        }),
      ],
    }),
  });
}
