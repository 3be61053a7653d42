// Extends the page's search box: it also finds kernels, FX nodes, buffers, source files and
// commands of the open graph. Enter takes the first hit; the last one searches all runs.
import { cutName, make } from "../../shared/elements";
import { microseconds } from "../../shared/figures";
import type { GraphPicture, Kernel } from "../shapes";
import type { Target } from "../state/address";
import type { LinkIndex } from "../state/links";
import { type Found, hasWords, search } from "../state/search";
import type { Key } from "./keys";

/** Most commands listed with other hits. */
const MOST_COMMANDS = 6;

interface Hit {
  kind: string;
  name: string | HTMLElement;
  note: string;
  take(): void;
}

export interface PaletteHost {
  readonly picture: GraphPicture;
  readonly index: LinkIndex;
  readonly row: { readonly active: { focus(): void } | null };
  readonly settled: Promise<unknown>;
  readonly ended: AbortSignal;
  chooseKernel(kernel: Kernel): void;
  select(target: Target): void;
}

export class Palette {
  private readonly host: PaletteHost;
  private readonly list = make("ul", {
    class: "palette",
    id: "palette",
    role: "listbox",
    "aria-label": "Found in this graph",
  });
  private readonly box: HTMLInputElement | null;
  private readonly commands: readonly Key[];
  private hits: Hit[] = [];
  private chosen = -1;

  constructor(host: PaletteHost, commands: readonly Key[]) {
    this.host = host;
    this.commands = commands;
    this.box = document.querySelector<HTMLInputElement>("#search");
    const { box } = this;
    if (!box) return;
    box.placeholder = "Search this graph, commands";
    for (const [name, value] of Object.entries({
      role: "combobox",
      "aria-label": "Search kernels, FX nodes and buffers of this graph, commands, and runs",
      "aria-expanded": "false",
      "aria-controls": "palette",
      "aria-autocomplete": "list",
      autocomplete: "off",
    })) {
      box.setAttribute(name, value);
    }
    this.list.hidden = true;
    box.form?.append(this.list);
    const { ended: signal } = host;
    box.addEventListener("input", () => this.look(), { signal });
    box.addEventListener("focus", () => this.look(), { signal });
    box.addEventListener("blur", () => this.hide(), { signal });
    box.addEventListener("keydown", (event) => this.pressed(event), { signal });
    signal.addEventListener("abort", () => this.list.remove());
    // Pressing must not take the focus from the box, which would close the list first.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  private look(): void {
    const { box, host } = this;
    if (!box) return;
    const words = box.value.trim();
    this.hits = [
      ...search(words, host.picture, host.index).map((found) => this.hitOf(found)),
      ...this.commandsOf(words),
    ];
    if (words) {
      const name = `all runs for \u201c${words}\u201d`;
      this.hits.push({ kind: "search", name, note: "", take: () => box.form?.requestSubmit() });
    }
    this.list.replaceChildren(...this.hits.map((hit, at) => this.optionOf(hit, at)));
    this.list.hidden = false;
    box.setAttribute("aria-expanded", "true");
    this.mark(words ? 0 : -1);
  }

  private hitOf(found: Found): Hit {
    const { kind, name, kernel, target } = found;
    const time = kernel?.time_us ?? null;
    const note = time === null ? found.note : microseconds(time);
    const take = () => (kernel ? this.host.chooseKernel(kernel) : this.host.select(target));
    return { kind, name: cutName(name), note, take };
  }

  /** Without a search, all commands. */
  private commandsOf(words: string): Hit[] {
    const fitting = this.commands.filter(({ does }) => hasWords(does, words));
    return fitting
      .slice(0, words ? MOST_COMMANDS : this.commands.length)
      .map(({ does, shown, run }) => ({ kind: "command", name: does, note: shown, take: run }));
  }

  private optionOf({ kind, name, note, take }: Hit, at: number): HTMLElement {
    const label = typeof name === "string" ? make("span", { class: "does" }, name) : name;
    const end =
      kind === "command"
        ? make(
            "span",
            {},
            ...note
              .split(" ")
              .filter(Boolean)
              .flatMap((key) => [make("kbd", {}, key), " "]),
          )
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
    if (at < 0) this.box?.removeAttribute("aria-activedescendant");
    else this.box?.setAttribute("aria-activedescendant", `found-${at}`);
  }

  private pressed(event: KeyboardEvent): void {
    const count = this.hits.length;
    if (event.key === "Tab") {
      this.hide(); // otherwise the focus would go to the list, which then disappears
      return;
    }
    if (event.key === "Escape") {
      this.hide();
      this.host.row.active?.focus();
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
    this.host.row.active?.focus(); // commands work on the pane with the focus
    take();
    void this.host.settled.then(() => {
      if (document.activeElement === document.body) this.host.row.active?.focus();
    });
  }

  private hide(): void {
    this.list.hidden = true;
    this.box?.setAttribute("aria-expanded", "false");
    this.mark(-1);
  }
}
