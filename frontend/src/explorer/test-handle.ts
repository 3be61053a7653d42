// The explorer's handle in the console, for browser tests and curious people: by stage and line.
import type { Explorer } from "./explorer";

declare global {
  interface Window {
    inductorscope?: { explorer?: ReturnType<typeof handleOf> };
  }
}

export function handleOf(explorer: Explorer) {
  const paneOf = (stage: string) => {
    const pane = explorer.row.of(stage);
    if (!pane) throw new Error(`No pane shows ${stage}.`);
    return pane;
  };
  return {
    /** Whether the panes show their first texts. */
    ready: false,
    stages: () => explorer.state.panes.map(({ stage }) => stage),
    /** Select a line, as a click does; resolves when all panes show it. */
    selectLine: async (stage: string, line: number) => {
      explorer.pin(paneOf(stage), line);
      await explorer.settled;
    },
    linesLit: (stage: string) => {
      const { state } = explorer;
      return [...state.matchesIn(paneOf(stage).address, state.selected).lines];
    },
    text: (stage: string, line: number) => paneOf(stage).code?.text(line) ?? null,
    /** The lines of a pane whose text contains a string. */
    find: (stage: string, part: string) => {
      const pane = paneOf(stage);
      if (pane.content?.kind !== "code") return [];
      const found: number[] = [];
      for (let line = pane.content.first; line <= pane.content.last; line++) {
        if (pane.code?.text(line)?.includes(part)) found.push(line);
      }
      return found;
    },
    reveal: (stage: string, line: number) => paneOf(stage).code?.reveal(line),
    /** Text of the line at the caret of a pane. */
    cursorText: (stage: string) => {
      const { code } = paneOf(stage);
      return code?.text(code.caretLine()) ?? "";
    },
  };
}
