// The explorer's handle in the console, for browser tests and curious people: by stage and line.
import type { Explorer } from "./explorer";

export interface ExplorerHandle {
  /** Whether the panes show their first texts. */
  ready: boolean;
  stages(): string[];
  /** Select a line, as a click does; resolves when all panes show it. */
  selectLine(stage: string, line: number): Promise<void>;
  linesLit(stage: string): number[];
  text(stage: string, line: number): string | null;
  /** The lines of a pane whose text contains a string. */
  find(stage: string, part: string): number[];
  /** Scroll to a line. */
  reveal(stage: string, line: number): void;
  /** Text of the line at the caret of a pane. */
  cursorText(stage: string): string;
}

declare global {
  interface Window {
    inductorscope?: { explorer?: ExplorerHandle };
  }
}

export function handleOf(explorer: Explorer): ExplorerHandle {
  const paneOf = (stage: string) => {
    const pane = explorer.row.of(stage);
    if (!pane) throw new Error(`No pane shows ${stage}.`);
    return pane;
  };
  return {
    ready: false,
    stages: () => explorer.state.panes.map(({ stage }) => stage),
    selectLine: async (stage, line) => {
      explorer.pin(paneOf(stage), line);
      await explorer.settled;
    },
    linesLit: (stage) => {
      const { state } = explorer;
      return [...state.matchesIn(paneOf(stage).address, state.selected).lines];
    },
    text: (stage, line) => paneOf(stage).code?.text(line) ?? null,
    find: (stage, part) => {
      const pane = paneOf(stage);
      if (pane.content?.kind !== "code") return [];
      const found: number[] = [];
      for (let line = pane.content.first; line <= pane.content.last; line++) {
        if (pane.code?.text(line)?.includes(part)) found.push(line);
      }
      return found;
    },
    reveal: (stage, line) => paneOf(stage).code?.reveal(line),
    cursorText: (stage) => {
      const { code } = paneOf(stage);
      return code?.text(code.caretLine()) ?? "";
    },
  };
}
