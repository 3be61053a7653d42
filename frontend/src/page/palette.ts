// The search box of every page. It also finds runs, pages, the keys of the page as commands, and what
// else a page offers. Enter takes the marked hit, or searches all runs. Ctrl K (or ⌘ K, or /) goes there.
import type { RunsPage } from "../shared/api";
import { fill, make } from "../shared/elements";
import { drawn, type Key, listen, offeredKeys, showKeys } from "../shared/keys";
import { ask } from "../shared/server";

/** Most commands and pages listed with other hits. */
const MOST = 6;
/** How long to wait for more letters before asking for runs. */
const SETTLED_MS = 120;
/** The keys that lead to the box. */
const BOX = "Ctrl-K /";
const PAGES = ".run-nav a, .everywhere a, #menu nav a";

interface Hit {
  kind: string;
  name: string | HTMLElement;
  note: string;
  take(): void;
}

/** Something on the page to search in first. */
interface Searched {
  /** Its name, as in "Search this graph". */
  where: string;
  find(words: string): Hit[];
  /** Moves the focus back from the box. */
  leave(): void;
  settled(): Promise<unknown>;
}

let searched: Searched | null = null;

/** Search in this first, until `signal` is aborted. */
export function offerHits(of: Searched, signal: AbortSignal): void {
  searched = of;
  signal.addEventListener("abort", () => {
    searched = null;
  });
}

function hasWords(text: string, query: string): boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return words.every((word) => text.toLowerCase().includes(word));
}

function pagesOf(words: string): Hit[] {
  const links = [...document.querySelectorAll<HTMLAnchorElement>(PAGES)];
  const byAddress = new Map(links.reverse().map((link) => [link.href, link] as const));
  return [...byAddress.values()].reverse().flatMap((link) => {
    const name = (link.firstChild?.textContent ?? "").trim();
    const lacking = link.classList.contains("lacks") ? "nothing to show" : "";
    const note = link.closest(".last-run") ? "last run" : lacking;
    const hit = { kind: "page", name, note, take: () => link.click() };
    return hasWords(name, words) ? [hit] : [];
  });
}

function commandsOf(words: string): Hit[] {
  return offeredKeys().flatMap(({ does, shown, run }) =>
    run && does && hasWords(does, words)
      ? [{ kind: "command", name: does, note: shown, take: run }]
      : [],
  );
}

class Palette {
  private readonly list = make("ul", {
    class: "palette bare",
    id: "palette",
    role: "listbox",
    "aria-label": "Found",
  });
  private hits: Hit[] = [];
  private chosen = -1;
  private runs: RunsPage["runs"] = [];
  private asked = "";

  constructor(private readonly box: HTMLInputElement) {
    fill(box, {
      role: "combobox",
      "aria-expanded": "false",
      "aria-controls": "palette",
      "aria-autocomplete": "list",
    });
    this.list.hidden = true;
    box.form?.append(this.list);
    box.addEventListener("input", () => this.look());
    box.addEventListener("focus", () => this.look());
    box.addEventListener("blur", () => this.hide());
    box.addEventListener("keydown", (event) => this.pressed(event));
    // Pressing must not take the focus from the box, which would close the list first.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  private look(): void {
    const words = this.box.value.trim();
    const most = words ? MOST : Number.POSITIVE_INFINITY;
    const found = searched?.find(words) ?? [];
    if (words && words !== this.asked) void this.askForRuns(words);
    const runs = this.runs.flatMap(({ id, name, created_at }) => {
      const take = () => location.assign(`/runs/${id}`);
      const note = created_at.slice(0, 10);
      return words && hasWords(name, words) ? [{ kind: "run", name, note, take }] : [];
    });
    const own = ({ note }: Hit) => Number(note === BOX || note === "?"); // of the box itself
    const listed = [...commandsOf(words).slice(0, most), ...pagesOf(words).slice(0, most)];
    listed.sort((one, other) => own(one) - own(other));
    const everywhere = {
      kind: "search",
      name: `all runs for \u201c${words}\u201d`,
      note: "",
      take: () => this.box.form?.requestSubmit(),
    };
    this.hits = [...found, ...runs.slice(0, most), ...listed];
    const isNamed = ({ kind, name }: Hit) =>
      kind === "page" && `${name}`.toLowerCase() === words.toLowerCase();
    const first = searched ? this.hits.length : this.hits.filter(isNamed).length;
    if (!searched) this.hits.sort((one, other) => Number(isNamed(other)) - Number(isNamed(one)));
    if (words) this.hits.splice(first, 0, everywhere);
    this.list.replaceChildren(...this.hits.map((hit, at) => this.optionOf(hit, at)));
    this.list.hidden = false;
    this.box.setAttribute("aria-expanded", "true");
    this.mark(words ? 0 : -1);
  }

  private async askForRuns(words: string): Promise<void> {
    this.asked = words;
    await new Promise((done) => setTimeout(done, SETTLED_MS));
    if (this.asked !== words || this.list.hidden) return;
    const none = { runs: [] }; // in a file there is no server
    const url = `/api/?${new URLSearchParams({ q: words })}`;
    const { runs } = await ask<Pick<RunsPage, "runs">>(url).catch(() => none);
    if (this.asked !== words || this.list.hidden) return;
    this.runs = runs;
    this.look();
  }

  private optionOf({ kind, name, note, take }: Hit, at: number): HTMLElement {
    const label = typeof name === "string" ? make("span", { class: "does elided" }, name) : name;
    const end =
      kind === "command"
        ? make("span", {}, ...drawn(note))
        : make("span", { class: "soft num" }, note);
    const option = make(
      "li",
      { role: "option", id: `found-${at}`, "aria-selected": "false" },
      make("span", { class: "soft" }, kind),
      label,
      end,
    );
    option.addEventListener("click", () => this.take(take));
    return option;
  }

  private mark(at: number): void {
    this.chosen = at;
    [...this.list.querySelectorAll("[role=option]")].forEach((option, each) => {
      option.setAttribute("aria-selected", String(each === at));
      if (each === at) option.scrollIntoView({ block: "nearest" });
    });
    if (at < 0) this.box.removeAttribute("aria-activedescendant");
    else this.box.setAttribute("aria-activedescendant", `found-${at}`);
  }

  private pressed(event: KeyboardEvent): void {
    const count = this.hits.length;
    if (event.key === "Tab") {
      this.hide(); // otherwise the focus would go to the list, which then disappears
      return;
    }
    if (event.key === "Escape") {
      this.hide();
      if (searched) searched.leave();
      else this.box.blur();
    } else if (event.key === "Enter") {
      const hit = this.hits[this.chosen];
      if (!hit) return; // the form searches all runs
      this.take(hit.take);
    } else if (count && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const by = event.key === "ArrowDown" ? 1 : -1;
      this.mark((this.chosen + by + count + (this.chosen < 0 && by < 0 ? 1 : 0)) % count);
    } else return;
    event.preventDefault();
  }

  private take(take: () => void): void {
    this.hide();
    searched?.leave();
    take();
    void searched?.settled().then(() => {
      if (document.activeElement === document.body) searched?.leave();
    });
  }

  private hide(): void {
    this.list.hidden = true;
    this.box.setAttribute("aria-expanded", "false");
    this.mark(-1);
  }
}

export function startPalette(): void {
  const box = document.querySelector<HTMLInputElement>("#find");
  if (!box) return;
  new Palette(box);
  const go = () => {
    box.focus();
    box.select();
  };
  const keys: Key[] = [
    { keys: ["/"], shown: BOX, does: "search, or go to a page", run: go },
    { keys: ["?"], shown: "?", does: "this help", run: showKeys },
  ];
  listen(document.body, keys);
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "k") return;
    event.preventDefault();
    go();
  });
  document.addEventListener("click", (event) => {
    if (event.target instanceof Element && event.target.closest(".show-keys")) showKeys();
  });
}
