// Finding in a pane and moving its caret by keys: fetched when the first texts are painted, since it is
// a third of the scripts and nobody can miss it before.
import { standardKeymap } from "@codemirror/commands";
import { search, searchKeymap } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import { keymap } from "@codemirror/view";

export { openSearchPanel } from "@codemirror/search";

export const editing: Extension = [
  search({ top: true }),
  keymap.of([...searchKeymap, ...standardKeymap]),
];
