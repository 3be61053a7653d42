// What lights in the panes for what is kept and pointed at, and what the status line says of it.
import { make } from "../../shared/elements";
import { type Marks, NO_MARKS } from "../code/lit-lines";
import type { Explorer } from "../explorer";
import { kernelsOf, spentIn } from "../state/follow";
import {
  EVERY_CALL,
  type Matches,
  NO_MATCHES,
  type Range,
  type Selected,
  within,
} from "../state/links";
import { placeName, summed } from "../state/summary";
import { type Told, tell } from "../views/status";
import { aimIn } from "./aim";
import type { Pane } from "./pane";

export class Lighting {
  private readonly explorer: Explorer;
  private lit = false;

  constructor(explorer: Explorer) {
    this.explorer = explorer;
  }

  /** Lines of a pane that a selection lights; in a kernel pane those of the chosen call. */
  matchesOf(pane: Pane, selected: Selected | null): Matches {
    const { content } = pane;
    if (!selected || content?.kind !== "code") return NO_MATCHES;
    // All of a chosen kernel's own lines are its; lighting every one would say nothing.
    if (selected.wholeKernel && pane.address.stage === "kernel") return NO_MATCHES;
    const call = pane.address.stage === "kernel" ? this.explorer.call() : EVERY_CALL;
    const found = this.explorer.index.matches(selected, content.key, call);
    return within(found, content.first, content.last);
  }

  originIn(pane: Pane): Range | null {
    const target = this.explorer.target;
    if (!target || "entity" in target || pane.content?.kind !== "code") return null;
    if (this.explorer.keyOf(target) !== pane.content.key) return null;
    return { first: target.line, last: target.last ?? target.line };
  }

  litIn(pane: Pane): Matches {
    return this.matchesOf(pane, this.explorer.selected);
  }

  /** Light what is selected and hovered; `reveal` brings what matters most into sight. */
  light(reveal = false): void {
    const marks = this.explorer.panes.map((pane) => this.marksOf(pane));
    // All that reads the layout first, then all that changes it.
    const aims = this.explorer.panes.map((pane, at) =>
      reveal ? aimIn(pane, marks[at]?.pinned ?? NO_MATCHES, marks[at]?.origin ?? null) : null,
    );
    // A code view that is made asks for the layout of the page, again and again where others were
    // made before it: for the first ones there is none.
    const into = this.explorer.part(".panes");
    into.hidden = !this.lit;
    this.explorer.panes.forEach((pane, at) => {
      pane.mark(marks[at] ?? NO_MARKS, aims[at] ?? null);
      pane.light(this.explorer.selected, this.explorer.hoveredOne);
    });
    into.hidden = false;
    this.lit = true;
    this.say();
  }

  private marksOf(pane: Pane): Marks {
    const origin = this.originIn(pane);
    if (!this.explorer.selected && !this.explorer.hoveredOne && origin === null) return NO_MARKS;
    return {
      pinned: this.matchesOf(pane, this.explorer.selected),
      hovered: this.matchesOf(pane, this.explorer.hoveredOne),
      origin,
      current: this.explorer.stop?.pane === pane ? this.explorer.stop.line : null,
    };
  }

  /** Say a sentence until something else is to be said. */
  tellOnce(sentence: string | null): void {
    if (sentence === null) this.say();
    else this.explorer.part(".what").replaceChildren(make("span", {}, sentence));
  }

  say(): void {
    const shown = this.explorer.hoveredOne ?? this.explorer.selected;
    const into = this.explorer.part(".what");
    if (!shown && this.explorer.trouble) {
      tell(
        into,
        { ...this.told({ entities: new Map(), origin: null }), trouble: this.explorer.trouble },
        null,
      );
    } else {
      tell(into, shown ? this.told(shown) : null, this.explorer.picture.graph_time_us);
    }
  }

  private told(selected: Selected): Told {
    const lit = this.explorer.panes.map((pane) => {
      const key = pane.content?.kind === "code" ? pane.content.key : "";
      return { key, matches: this.matchesOf(pane, selected) };
    });
    const { index, picture } = this.explorer;
    const code = index.matches(selected, "code");
    const kernels = kernelsOf(picture, code);
    return {
      ...summed(lit, selected),
      names: index.namesOf(selected),
      from: selected.origin ? `from ${placeName(picture, selected.origin)}` : null,
      kernels: kernels.length,
      spent: spentIn(index, selected, kernels, code),
      match:
        this.explorer.stop && selected === this.explorer.selected ? this.explorer.stop.place : null,
      preview: selected === this.explorer.hoveredOne && this.explorer.selected !== null,
      trouble: null,
    };
  }
}
