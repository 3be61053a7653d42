// What the views need of the explorer.
import type { PaneRow, RowHost } from "../panes/row";
import type { Kernel } from "../shapes";
import type { Target } from "../state/address";
import type { LinkPlace } from "../state/chain";

export interface ViewHost extends RowHost {
  readonly root: HTMLElement;
  readonly row: PaneRow;
  readonly settled: Promise<unknown>;
  readonly ended: AbortSignal;
  /** Scroll a pane to a place. */
  lead(place: LinkPlace): Promise<void>;
  showStages(stages: readonly string[], compares: boolean): Promise<void>;
  chooseKernel(kernel: Kernel): void;
  instanceChosen(instance: number | null): void;
  select(target: Target): void;
  lineText(key: string, line: number): Promise<string | null>;
  stageLines(key: string): Promise<readonly string[]>;
}
