// Listings of code: highlighting; in a file, the marked line is scrolled to, and Shift-click on a
// number marks a range.
import { make } from "../shared/elements";
import { TOKENS, tokenise } from "../shared/tokens";

/** Most characters that are highlighted; the rest stays plain. */
const MOST = 200_000;

export function startColours(): void {
  for (const listing of document.querySelectorAll<HTMLElement>("pre[data-language]")) {
    const text = listing.textContent ?? "";
    const parts: (Node | string)[] = [];
    let done = 0;
    tokenise(text.slice(0, MOST), listing.dataset.language ?? "", (from, to, token) => {
      const part = make("span", { class: `tok-${TOKENS[token]}` }, text.slice(from, to));
      parts.push(text.slice(done, from), part);
      done = to;
    });
    listing.replaceChildren(...parts, text.slice(done));
  }
}

export function startLines(): void {
  const listing = document.querySelector<HTMLElement>("[data-lines]");
  if (!listing?.dataset.lines) return;
  const { lines: address, line } = listing.dataset;
  const marked = document.getElementById(`L${line}`);
  if (marked) {
    listing.scrollTop = marked.offsetTop - listing.offsetTop - listing.clientHeight / 3;
  }
  listing.addEventListener("click", (event) => {
    const number =
      event.target instanceof Element ? event.target.closest<HTMLElement>("a.number") : null;
    if (!number || !event.shiftKey || !line) return;
    event.preventDefault();
    const [from, to] = [Number(line), Number(number.textContent)];
    location.assign(`${address}?line=${Math.min(from, to)}&last=${Math.max(from, to)}`);
  });
}
