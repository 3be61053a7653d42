// The commands behind the keys.

import { share } from "../page/share";
import { type Key, key, listen } from "../shared/keys";
import { IR_POST, KERNEL, POST_GRAD, SOURCE } from "../shared/vocabulary";
import type { CodeOptions } from "./code/code";
import type { Explorer } from "./explorer";
import { colours, fold, wrap } from "./state/preferences";
import { stopAfter, stopsOf } from "./state/walk";

export function startCommands(explorer: Explorer): void {
  function step(by: 1 | -1): void {
    const { state, row, status } = explorer;
    const active = row.active?.address ?? null;
    const stops = stopsOf(state.views());
    const stop = stopAfter(stops, state.stop, by, active, (each) => state.shows(each));
    if (stop) void explorer.goTo(stop);
    else if (state.selected) status.show();
    else status.sayOnce("Keep a line first (click or Enter), then n and p walk its matches.");
  }

  function goPane(by: 1 | -1): void {
    const { row } = explorer;
    const at = row.active ? row.panes.indexOf(row.active) : -1;
    if (document.activeElement?.closest(".side")) {
      if (by === 1) row.panes[0]?.focus();
      return;
    }
    const next = row.panes[at + by];
    if (next) {
      row.active = next;
      row.showTabs();
      next.focus();
    } else if (by === -1) explorer.list.focus();
  }

  function adjust(change: Partial<CodeOptions>): void {
    Object.assign(explorer.options, change);
    fold.write(explorer.options.folded);
    wrap.write(explorer.options.wrapped);
    for (const pane of explorer.row.panes) pane.code?.adjust(explorer.options);
  }

  function pinCaret(extend: boolean): void {
    const pane = explorer.row.active;
    const line = pane?.code?.caretLine();
    if (document.activeElement?.closest(".side")) {
      const { kernel } = explorer.state;
      if (kernel) explorer.chooseKernel(kernel);
    } else if (pane && line) explorer.pin(pane, line, extend);
  }

  function chain(): void {
    const { chain, state, status } = explorer;
    if (!state.selected) {
      status.sayOnce("Keep a line first (click or Enter): the chain shows all that it became.");
      return;
    }
    const inside = document.activeElement?.closest(".chain") !== null;
    if (chain.open && inside) {
      chain.toggle(false);
      explorer.row.active?.focus();
      return;
    }
    chain.toggle(true);
    chain.focus();
  }

  /** Open the graph's program in the playground, at the node of the selection. */
  function fork(): void {
    const link = explorer.root.querySelector<HTMLAnchorElement>(".fork");
    if (!link) return;
    const { origin, pinned } = explorer.state.marksIn({
      stage: POST_GRAD,
      file: null,
      hops: 0,
    });
    const line = origin?.first ?? pinned.lines[0];
    location.assign(line ? `${link.pathname}?line=${line}` : link.pathname);
  }

  function stepCall(by: 1 | -1): void {
    const calls = explorer.state.kernel?.calls ?? [];
    if (calls.length < 2) return;
    const at = calls.findIndex((call) => call.handle === explorer.state.handle);
    const next = (at + by + calls.length + 1 + 1) % (calls.length + 1);
    explorer.handleChosen(next === 0 ? null : (calls[next - 1]?.handle ?? null));
  }

  /** With a line selected, step through the kernels that compute it; otherwise down the list. */
  function stepKernel(by: 1 | -1): void {
    const { computing } = explorer.state;
    const at = computing.findIndex(({ name }) => name === explorer.state.kernel?.name);
    const next = computing[(at + by + computing.length) % computing.length];
    if (computing.length > 1 && next) explorer.turnTo(next);
    else explorer.list.step(by);
  }

  const keys: Key[] = [
    {
      keys: [],
      shown: "↑ ↓",
      does:
        "move by line; the other panes preview what the line became: with a solid edge if it is " +
        "known exactly, a dashed one if inferred, a dotted one if only the kernel is known",
    },
    key(["Enter", " "], "Enter Space", "keep (pin) the line the caret is on", () =>
      pinCaret(false),
    ),
    key(["Shift+Enter"], "Shift-Enter", "keep all lines from the kept one to the caret", () =>
      pinCaret(true),
    ),
    key(["Escape"], "Esc", "clear the selection", () => explorer.select(null)),
    key(["n"], "n", "next match", () => step(1)),
    key(["p"], "p", "previous match", () => step(-1)),
    key(["]"], "]", "next kernel of the selection, else of the list", () => stepKernel(1)),
    key(["["], "[", "previous kernel", () => stepKernel(-1)),
    key(["."], ".", "next call site of a shared kernel", () => stepCall(1)),
    key([","], ",", "previous call site", () => stepCall(-1)),
    key(["i"], "i", "next instance of a region or of equal graphs, then all", () => {
      const { instance, instances } = explorer.state;
      explorer.instanceChosen(((instance ?? 0) + 1) % (instances.length + 1) || null);
    }),
    key(["ArrowRight"], "→", "to the pane on the right", () => goPane(1)),
    key(["ArrowLeft"], "←", "to the pane on the left, then to the kernels", () => goPane(-1)),
    key(["k"], "k", "filter the kernels", () => explorer.list.focusFilter()),
    key(["f"], "f", "find in the pane", () => explorer.row.active?.find()),
    key(["t"], "t", "fold or show types, folders and heads of IR nodes", () =>
      adjust({ folded: !explorer.options.folded }),
    ),
    key(
      ["d"],
      "d",
      "compare the pane with the one on its right, lines aligned; press again to stop",
      () => explorer.compared(explorer.row.active),
    ),
    key(["o"], "o", "show only highlighted lines and those around them, or all", () =>
      adjust({ only: !explorer.options.only }),
    ),
    key(["e"], "e", "explain: how are the links of the selection known?", () =>
      explorer.reasons.open(),
    ),
    key(
      ["b"],
      "b",
      "why is the kernel not fused with its neighbours, a loop of it not vectorised?",
      () => {
        const { kernel } = explorer.state;
        if (kernel) void explorer.neighbours.open(kernel);
      },
    ),
    key(["c"], "c", "to the chain of the selection; press again to close it", chain),
    key(["l"], "l", "turn colours by source line on or off", () =>
      explorer.showColours(!colours.read()),
    ),
    key(["w"], "w", "turn wrapping of long lines on or off", () =>
      adjust({ wrapped: !explorer.options.wrapped }),
    ),
    key(["a"], "a", "add a pane", () => explorer.added(explorer.row.active)),
    key(["x"], "x", "close the pane", () => explorer.closed(explorer.row.active)),
    key(["r"], "r", "fork: edit the graph's program and run it beside the graph", fork),
    key(["y"], "y", "share: copy a link to exactly this view", share),
    key([], "", "show the pictures of the graph before and after fusion side by side", () =>
      explorer.showStages(["picture_pre", "picture_post"]),
    ),
    key([], "", "show the IR after fusion beside the kernel", () =>
      explorer.showStages([SOURCE, POST_GRAD, IR_POST, KERNEL]),
    ),
  ];
  listen(explorer.root, keys, explorer.ended);
  explorer.root.querySelector(".fork")?.addEventListener("click", (event) => {
    event.preventDefault();
    fork();
  });
  explorer.part(".next-match").addEventListener("click", () => step(1));
  explorer.part(".previous-match").addEventListener("click", () => step(-1));
}
