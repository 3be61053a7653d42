// The panes side by side: keeps one for each address of the state, lights them, and knows which one the
// reader is in.
import type { PaneAddress } from "../state/address";
import { aimIn } from "./aim";
import { fillTabs, layOut } from "./layout";
import { Pane, type PaneHost } from "./pane";

export interface RowHost extends PaneHost {
  part(selector: string): HTMLElement;
  /** Another tab is to be seen. */
  tabChosen(): void;
}

export class PaneRow {
  private readonly host: RowHost;
  panes: readonly Pane[] = [];
  active: Pane | null = null;

  constructor(host: RowHost) {
    this.host = host;
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

  /** Have a pane for each address of the state. Panes that stay keep what they show. */
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
    layOut(this.host.part(".panes"), this.panes);
    this.showTabs();
  }

  /** Light what the state says; `reveal` brings what matters most into sight. */
  light(reveal: boolean): void {
    const { state } = this.host;
    const lit = this.panes.map((pane) => {
      const marks = state.marksIn(pane.address);
      // Aiming reads the layout: all panes do so before any changes it.
      return { pane, marks, aim: reveal ? aimIn(pane, marks.pinned, marks.origin) : null };
    });
    for (const { pane, marks, aim } of lit) pane.light(marks, aim);
  }

  showTabs(): void {
    const { host } = this;
    fillTabs(host.part(".pane-tabs"), host.part(".side"), this.panes, this.active, (pane) => {
      this.active = pane;
      this.showTabs();
      host.tabChosen();
    });
  }
}
