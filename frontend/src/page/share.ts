// Copies a link to exactly this page, or the text that a button names.
import { askText, sentenceOf } from "../shared/server";

let hiding = 0;

/** Show a message for a moment, also to screen readers. */
export function announce(words: string): void {
  const said = document.querySelector<HTMLElement>("#said");
  if (!said) return;
  said.textContent = words;
  said.hidden = false;
  clearTimeout(hiding);
  const hide = () => said.toggleAttribute("hidden", true);
  hiding = window.setTimeout(hide, 1500 + 50 * words.length);
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(`${what} copied.`);
  } catch {
    // There is no clipboard over plain HTTP: show the text for copying by hand.
    window.prompt(`Copy ${what.toLowerCase()}:`, text);
  }
}

export function share(): void {
  document.dispatchEvent(new Event("share")); // the page writes what it shows into its address
  void copy(location.href, "Link");
}

/** Copy this page as Markdown, which the server makes from the same answer. */
async function copyMarkdown(): Promise<void> {
  try {
    await copy(await askText(location.href, { accept: "text/markdown" }), "Markdown");
  } catch (trouble) {
    announce(sentenceOf(trouble));
  }
}

/** Names cut in the middle are copied in full. */
function copyWhole(event: ClipboardEvent): void {
  const selection = document.getSelection();
  if (!selection?.rangeCount || !event.clipboardData) return;
  const range = selection.getRangeAt(0);
  const within = range.commonAncestorContainer;
  const element = within instanceof Element ? within : within.parentElement;
  const cut = element?.closest<HTMLElement>("[data-full]");
  if (!cut?.dataset.full) return;
  event.clipboardData.setData("text/plain", cut.dataset.full);
  event.preventDefault();
}

export function startCopying(): void {
  document.addEventListener(
    "beforetoggle",
    ({ target }) => {
      // The explorer's state to export is chosen after the page is rendered.
      const box = target instanceof Element ? target.querySelector("[data-here]") : null;
      if (box instanceof HTMLInputElement) box.value = location.pathname + location.search;
    },
    { capture: true },
  );
  document.addEventListener("copy", copyWhole);
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest("#share")) share();
    if (event.target.closest("#as-markdown")) void copyMarkdown();
    const button = event.target.closest<HTMLElement>("[data-copy]");
    if (button?.dataset.copy) void copy(button.dataset.copy, button.dataset.what ?? "Text");
  });
}
