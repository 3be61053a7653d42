// Trees that are filtered while the user types: rows that match stay, with their parents.
import { count } from "../shared/figures";

/** The rows of an indented list to keep: those with all words, and their parents. */
export function kept(rows: readonly { depth: number; text: string }[], words: string[]): boolean[] {
  const stays = rows.map(() => words.length === 0);
  if (words.length === 0) return stays;
  for (const [number, row] of rows.entries()) {
    if (!words.every((word) => row.text.includes(word))) continue;
    stays[number] = true;
    let depth = row.depth;
    for (let above = number - 1; above >= 0 && depth > 0; above--) {
      const other = rows[above];
      if (other && other.depth < depth) {
        stays[above] = true;
        depth = other.depth;
      }
    }
  }
  return stays;
}

function rowsOf(list: HTMLElement): { element: HTMLElement; depth: number; text: string }[] {
  const elements = [...list.querySelectorAll<HTMLElement>("li[data-depth], li[data-words]")];
  return elements.map((element) => {
    let depth = Number(element.dataset.depth ?? 0);
    if (element.dataset.words !== undefined) {
      for (let above = element.parentElement; above && above !== list; above = above.parentElement)
        if (above.tagName === "LI") depth += 1;
    }
    return {
      element,
      depth,
      text: `${element.dataset.words ?? element.textContent} ${element.dataset.also ?? ""}`.toLowerCase(),
    };
  });
}

/** Branches of a tree can be folded. */
export function startFolding(): void {
  for (const button of document.querySelectorAll<HTMLButtonElement>(".tree button.fold")) {
    const below = button.closest("li")?.querySelector<HTMLElement>(":scope > .below");
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-expanded") !== "true";
      button.setAttribute("aria-expanded", String(open));
      if (below) below.hidden = !open;
    });
  }
}

export function startFilters(): void {
  for (const input of document.querySelectorAll<HTMLInputElement>("input[data-filters]")) {
    const name = input.dataset.filters ?? "";
    const list = document.getElementById(name);
    const said = document.querySelector<HTMLElement>(`[data-filtered="${name}"]`);
    if (!list) continue;
    const rows = rowsOf(list);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const stays = kept(rows, words);
      for (const [number, row] of rows.entries()) row.element.hidden = !stays[number];
      const matching = rows.filter((row) => words.every((word) => row.text.includes(word))).length;
      if (said) said.textContent = words.length ? count(matching, "match", "matches") : "";
    });
  }
}
