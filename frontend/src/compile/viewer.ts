// Texts of records next to their list: a click shows one, highlighted and searchable; the link
// still opens the whole file in a tab.
import { standardKeymap } from "@codemirror/commands";
import { openSearchPanel, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { coloured } from "../explorer/code/colour";
import { button, make } from "../shared/elements";
import { LOOK } from "../shared/look";
import { askText, sentenceOf } from "../shared/server";

const LIMITED = EditorView.theme({ "&": { maxHeight: "72vh" } });

function languageOf(name: string, text: string): string {
  if (/graph|code|runnable|program|ORIGINAL|MODIFIED/.test(name)) {
    return text.includes("#include") && !text.includes("import torch") ? "cpp" : "python";
  }
  return "ir";
}

export function startViewer(): void {
  const place = document.querySelector<HTMLElement>("#viewer");
  const links = [...document.querySelectorAll<HTMLAnchorElement>("a[data-shows]")];
  if (!place || !links.length) return;
  let view: EditorView | null = null;

  async function show(link: HTMLAnchorElement): Promise<void> {
    if (!place) return;
    const name = link.dataset.name ?? "";
    place.hidden = false;
    place.setAttribute("aria-busy", "true");
    for (const other of links) other.closest("tr")?.classList.toggle("chosen", other === link);
    const text = await askText(link.dataset.shows ?? "").catch(sentenceOf);
    view?.destroy();
    const find = button("Find", {}, () => view && openSearchPanel(view));
    const open = make("a", { class: "button", href: link.href }, "Open alone");
    place.replaceChildren(make("header", {}, make("code", { class: "grow" }, name), find, open));
    view = new EditorView({
      parent: place,
      state: EditorState.create({
        doc: text,
        extensions: [
          EditorState.readOnly.of(true),
          EditorView.contentAttributes.of({ "aria-label": name }),
          lineNumbers(),
          search({ top: true }),
          keymap.of([...standardKeymap, ...searchKeymap]),
          coloured(languageOf(name, text)),
          LOOK,
          LIMITED,
        ],
      }),
    });
    place.removeAttribute("aria-busy");
    history.replaceState(null, "", `#record-${links.indexOf(link)}`);
  }

  for (const link of links) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      void show(link);
    });
  }
  const named = /^#record-(\d+)$/.exec(location.hash);
  const wanted = named ? links[Number(named[1])] : undefined;
  if (wanted) {
    void show(wanted);
    document.querySelector("#records")?.scrollIntoView();
  }
}
