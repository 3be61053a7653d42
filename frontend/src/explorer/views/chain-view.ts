// The chain below the panes: one column per step; each link scrolls its pane.

import { button, make } from "../../shared/elements";
import { count } from "../../shared/figures";
import { certainty } from "../../shared/naming";
import { type Chain, chainOf, type Link, type Step } from "../state/chain";
import type { Selected } from "../state/links";
import { chainOpen } from "../state/preferences";
import type { ViewHost } from "./host";

/** Words next to the steps; the rest is in their tooltip. */
const WORDS = 3;

export class ChainView {
  private readonly root: HTMLElement;
  private readonly steps: HTMLElement;
  private readonly words: HTMLElement;
  private shown: Selected | null | undefined;
  /** Each drawing has a number, so that texts that arrive late do not fill a newer one. */
  private drawn = 0;

  constructor(private readonly host: ViewHost) {
    this.root = host.part(".chain");
    this.steps = host.part(".chain-steps");
    this.words = host.part(".chain-words");
    host.part(".chain-close").addEventListener("click", () => this.toggle(false));
    this.root.hidden = !chainOpen.read();
  }

  get open(): boolean {
    return !this.root.hidden;
  }

  toggle(open: boolean): void {
    this.root.hidden = !open;
    chainOpen.write(open);
    if (open) this.show(this.host.state.selected);
  }

  focus(): void {
    const first = this.root.querySelector<HTMLElement>(".chain-steps button");
    (first ?? this.root.querySelector<HTMLElement>(".chain-close"))?.focus();
  }

  show(selected: Selected | null): void {
    if (!this.open || (selected === this.shown && this.drawn > 0)) return;
    this.shown = selected;
    this.drawn++;
    const { index, picture } = this.host.state;
    if (selected) this.draw(chainOf(index, picture, selected));
  }

  private draw({ steps, words }: Chain): void {
    this.steps.replaceChildren(...steps.map((step) => this.column(step)));
    this.words.replaceChildren(
      ...words.slice(0, WORDS).map((sentence) => make("p", { title: sentence }, sentence)),
      words.length > WORDS
        ? make("p", { title: words.slice(WORDS).join("\n") }, `and ${words.length - WORDS} more`)
        : "",
    );
  }

  private column(step: Step): HTMLElement {
    const links = step.links.map((link) => make("li", {}, this.entry(link)));
    const list = make("ul", { class: "bare" }, ...links);
    if (step.more)
      list.append(make("li", { class: "soft" }, `and ${count(step.more, "more", "more")}`));
    if (!step.links.length) list.append(make("li", { class: "soft" }, step.missing));
    const total = step.links.length + step.more;
    const heading = make("h2", {}, step.title);
    if (total > 1) heading.append(make("span", { class: "soft num" }, String(total)));
    return make("section", { class: "chain-step", "aria-label": step.title }, heading, list);
  }

  private entry(link: Link): HTMLElement {
    const text = make("span", { class: "chain-text" }, link.note ?? "");
    const label = make("span", { class: "chain-label" }, link.label);
    const { place } = link;
    if (!place) return make("span", { class: "chain-link" }, label, " ", text);
    const how = link.how ?? certainty(link.known)?.title ?? "";
    const attributes = { class: `chain-link known-${link.known}`, title: how };
    const entry = button([label, " ", text], attributes, () => this.host.lead(place));
    if (link.note === null) void this.fill(text, entry, link, how);
    return entry;
  }

  /** The text of the link's line, once it has arrived. */
  private async fill(into: HTMLElement, entry: HTMLElement, link: Link, how: string) {
    const drawn = this.drawn;
    const { key, line } = link.place ?? { key: "", line: 0 };
    const text = await this.host.lineText(key, line).catch(() => null);
    if (drawn !== this.drawn || text === null) return;
    const plain = text.trim();
    // The label already gives the name, and a type says nothing about what is computed.
    const said = plain.startsWith(link.label) ? plain.slice(link.label.length) : plain;
    into.textContent = said.replace(/^(?:: "[^"]*")? = /, "");
    entry.title = `${plain}\n${how}`;
  }
}
