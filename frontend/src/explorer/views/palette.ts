// The search box of the page also finds kernels, FX nodes, buffers and source files of the open graph.
// Enter without a choice still searches all runs.
import { cutName, make } from "../../shared/elements";
import { microseconds } from "../../shared/figures";
import type { GraphPicture, Kernel } from "../shapes";
import type { Target } from "../state/address";
import type { LinkIndex } from "../state/links";
import { type Found, search } from "../state/search";

export interface PaletteHost {
  readonly picture: GraphPicture;
  readonly index: LinkIndex;
  readonly row: { readonly active: { focus(): void } | null };
  readonly settled: Promise<unknown>;
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
  private found: Found[] = [];
  private chosen = -1;

  constructor(host: PaletteHost) {
    this.host = host;
    this.box = document.querySelector<HTMLInputElement>("#search");
    const { box } = this;
    if (!box) return;
    box.placeholder = "Search this graph, runs";
    for (const [name, value] of Object.entries({
      role: "combobox",
      "aria-label": "Search kernels, FX nodes and buffers of this graph, and runs",
      "aria-expanded": "false",
      "aria-controls": "palette",
      "aria-autocomplete": "list",
      autocomplete: "off",
    })) {
      box.setAttribute(name, value);
    }
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
    const { box, host } = this;
    if (!box) return;
    this.found = search(box.value, host.picture, host.index);
    this.list.replaceChildren(...this.found.map((one, at) => this.optionOf(one, at)));
    if (box.value.trim()) {
      const words = `Enter searches all runs for \u201c${box.value.trim()}\u201d`;
      this.list.append(make("li", { class: "note", role: "presentation" }, words));
    }
    this.list.hidden = !box.value.trim();
    box.setAttribute("aria-expanded", String(!this.list.hidden));
    this.mark(-1);
  }

  private optionOf(one: Found, at: number): HTMLElement {
    const time = one.kernel?.time_us ?? null;
    const option = make(
      "li",
      { role: "option", id: `found-${at}`, "aria-selected": "false" },
      make("span", { class: "soft" }, one.kind),
      cutName(one.name),
      make("span", { class: "soft num" }, time === null ? one.note : microseconds(time)),
    );
    option.addEventListener("click", () => this.take(one));
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
    const count = this.found.length;
    if (event.key === "Escape") {
      this.hide();
      this.host.row.active?.focus();
    } else if (event.key === "Enter") {
      const one = this.found[this.chosen];
      if (!one) return; // the form goes to the runs
      this.take(one);
    } else if (count && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const by = event.key === "ArrowDown" ? 1 : -1;
      this.mark((this.chosen + by + count + (this.chosen < 0 && by < 0 ? 1 : 0)) % count);
    } else return;
    event.preventDefault();
  }

  private take(one: Found): void {
    this.hide();
    if (one.kernel) this.host.chooseKernel(one.kernel);
    else this.host.select(one.target);
    void this.host.settled.then(() => this.host.row.active?.focus());
  }

  private hide(): void {
    this.list.hidden = true;
    this.box?.setAttribute("aria-expanded", "false");
    this.mark(-1);
  }
}
