// The appearance of code in the panes and in the playground, light and dark.
import { EditorView } from "@codemirror/view";

const THEME = EditorView.theme({
  "&": { fontSize: "12px", backgroundColor: "var(--panel)", color: "var(--ink)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "20px" },
  ".cm-content": { padding: "4px 0", caretColor: "var(--accent)" },
  ".cm-line": { padding: "0 8px 0 4px" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--faint)", border: "none" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 6px 0 4px", minWidth: "32px" },
  ".cm-activeLineGutter": { backgroundColor: "transparent" },
  "&.cm-focused .cm-activeLineGutter": { color: "var(--accent)", fontWeight: "700" },
  ".cm-panels": { backgroundColor: "var(--sunk)", color: "var(--ink)" },
  ".cm-panels.cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panel.cm-search": { fontFamily: "var(--ui)", fontSize: "12px" },
  ".cm-panel.cm-search :is(input, button, label)": { fontSize: "12px" },
  ".cm-tooltip": {
    backgroundColor: "var(--panel)",
    border: "1px solid var(--edge)",
    color: "var(--ink)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "color-mix(in srgb, var(--accent) 22%, var(--panel))",
    color: "var(--ink)",
  },
  ".cm-textfield": { backgroundColor: "var(--panel)", border: "1px solid var(--edge)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--panel)", borderRadius: "5px" },
  ".cm-searchMatch": { backgroundColor: "color-mix(in srgb, var(--warn) 28%, transparent)" },
  ".cm-searchMatch-selected": {
    backgroundColor: "color-mix(in srgb, var(--warn) 55%, transparent)",
  },
});

/** The page's content policy lets in only styles with its nonce. */
const nonce = globalThis.document?.querySelector<HTMLElement>("link[nonce]")?.nonce ?? "";

export const LOOK = [THEME, EditorView.cspNonce.of(nonce)];
