// The panes side by side: keeps one for each pane of the state, highlights lines, and knows which
// pane has the focus.
import type { Aim, Code } from "../code/code";
import type { PaneAddress } from "../state/address";
import { knownAt, type Matches, type Range } from "../state/links";
import { fillTabs, layOut } from "./layout";
import { Pane, type PaneHost } from "./pane";

export interface RowHost extends PaneHost {
  part(selector: string): HTMLElement;
  light(): void;
  /** Panes were added, closed, made wider, or show another stage. */
  arranged(): void;
}

/** Most matches to examine; the nearest is usually among them. */
const MOST = 2000;

/** The line of a pane to scroll to when something is selected; null if one of the most relevant
 * lines is already visible, or there is none. */
function aimIn(code: Code, found: Matches, origin: Range | null): Aim | null {
  if (origin) return code.anyInSight([origin.first]) ? null : code.aimAt(origin.first);
  const lit = [...found.lines.subarray(0, MOST)];
  // Comments only name what they are about, so prefer the most certain lines of code.
  const written = lit.filter((line) => !/^\s*(#|\/\/)/.test(code.text(line) ?? ""));
  const best = Math.max(0, ...written.map((line) => knownAt(found, line)));
  const surest = written.filter((line) => knownAt(found, line) === best);
  const wanted = surest.length ? surest : lit;
  if (wanted[0] === undefined || code.anyInSight(wanted)) return null;
  return code.aimAt(wanted[0]);
}

export class PaneRow {
  panes: readonly Pane[] = [];
  active: Pane | null = null;

  constructor(private readonly host: RowHost) {
    host.part(".panes").addEventListener("focusin", (event) => {
      const pane = this.panes.find((each) => each.root.contains(event.target as Node));
      if (pane) this.active = pane;
    });
  }

  at(address: PaneAddress): Pane | null {
    return this.panes.find((pane) => pane.address === address) ?? null;
  }

  of(stage: string): Pane | null {
    return this.panes.find((pane) => pane.address.stage === stage) ?? null;
  }

  /** Make a pane for each pane of the state. Panes that stay keep their content. */
  arrange(): void {
    const { panes: addresses } = this.host.state;
    const gone = this.panes.filter((pane) => !addresses.includes(pane.address));
    for (const pane of gone) pane.close();
    if (!gone.length && this.panes.length === addresses.length) return;
    this.panes = addresses.map((address) => this.at(address) ?? new Pane(address, this.host));
    if (!this.active || gone.includes(this.active)) {
      const chosen = this.panes.find(({ address }) => this.host.state.originIn(address));
      this.active = chosen ?? this.panes[0] ?? null;
    }
    layOut(this.host.part(".panes"), this.panes, () => this.host.arranged());
    this.showTabs();
  }

  /** Highlight according to the state; `reveal` scrolls to the most relevant lines. */
  light(reveal: boolean): void {
    const { state } = this.host;
    const lit = this.panes.map((pane) => {
      const marks = state.marksIn(pane.address);
      // Finding the target reads the layout, so do it for all panes before changing any.
      const { middle } = pane.address;
      const { code } = pane;
      const aim = code && (middle ? code.aimAt(middle) : aimIn(code, marks.pinned, marks.origin));
      return { pane, marks, aim: reveal ? aim : null };
    });
    for (const { pane, marks, aim } of lit) pane.light(marks, aim);
  }

  showTabs(): void {
    const { host } = this;
    fillTabs(host.part(".pane-tabs"), host.part(".side"), this.panes, this.active, (pane) => {
      this.active = pane;
      this.showTabs();
      host.light();
    });
  }
}
