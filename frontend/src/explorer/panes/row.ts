// The panes side by side: which there are, which one the reader is in.
import { IR_POST, KERNEL, POST_GRAD, WRAPPER } from "../../shared/vocabulary";
import type { PaneAddress } from "../state/address";
import { fillTabs, layOut } from "./layout";
import { Pane, type PaneHost } from "./pane";

/** Whose place a stage takes that no pane shows, the first that there is. */
const SPARE = [KERNEL, IR_POST, WRAPPER, POST_GRAD];

export interface RowHost extends PaneHost {
  part(selector: string): HTMLElement;
  /** Another tab is to be seen. */
  turnedTo(): void;
}

export class PaneRow {
  private readonly host: RowHost;
  panes: Pane[] = [];
  active: Pane | null = null;

  constructor(host: RowHost) {
    this.host = host;
    host.part(".panes").addEventListener("focusin", (event) => {
      const pane = this.panes.find((each) => each.root.contains(event.target as Node));
      if (pane) this.active = pane;
    });
  }

  /** Show panes as an address says; those that do so already stay as they are. */
  set(addresses: readonly PaneAddress[]): void {
    const same = addresses.every((address, at) => {
      const now = this.panes[at]?.kept;
      const file = address.file === null || now?.file === address.file;
      return now?.stage === address.stage && now.hops === address.hops && file;
    });
    if (same && addresses.length === this.panes.length) return;
    for (const pane of this.panes) pane.close();
    this.panes = addresses.map((address) => new Pane(address, this.host));
    this.active = this.panes[0] ?? null;
    this.layOut();
  }

  /** A pane beside another, with a stage that none shows yet. */
  add(after: Pane): Pane | null {
    const shown = new Set(this.panes.map((pane) => pane.address.stage));
    const stages = this.host.picture.stages.filter((stage) => stage.files.length > 0);
    const next = stages.find((stage) => !shown.has(stage.id)) ?? stages[0];
    if (!next) return null;
    const pane = new Pane({ stage: next.id, file: null, hops: 0 }, this.host);
    this.panes.splice(this.panes.indexOf(after) + 1, 0, pane);
    this.active = pane;
    this.layOut();
    return pane;
  }

  /** The last pane stays. */
  close(pane: Pane): boolean {
    if (this.panes.length < 2) return false;
    const at = this.panes.indexOf(pane);
    pane.close();
    this.panes.splice(at, 1);
    this.layOut();
    this.active = this.panes[Math.max(0, at - 1)] ?? null;
    this.active?.focus();
    return true;
  }

  of(stage: string): Pane | null {
    return this.panes.find((pane) => pane.address.stage === stage) ?? null;
  }

  /** Show a stage, in its pane or in another's place. */
  for(stage: string): Pane | null {
    const shown = this.of(stage);
    if (shown) return shown;
    const spare = SPARE.filter((each) => each !== stage).map((each) => this.of(each));
    const pane = spare.find((each) => each !== null) ?? this.panes[0] ?? null;
    if (pane) pane.address.stage = stage;
    return pane;
  }

  showTabs(): void {
    const { host } = this;
    fillTabs(host.part(".pane-tabs"), host.part(".side"), this.panes, this.active, (pane) => {
      this.active = pane;
      this.showTabs();
      host.turnedTo();
    });
  }

  private layOut(): void {
    layOut(this.host.part(".panes"), this.panes);
  }
}
