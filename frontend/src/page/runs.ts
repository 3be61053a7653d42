// Keys in the list of runs: j and k go to the next and the previous run, x ticks it. On a run, the
// arrows do as j and k.

const STEPS: Record<string, number> = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 };
const TYPING = "input:not([type=checkbox]), textarea, select, [popover]";

export function startRuns(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target instanceof Element && event.target.closest(TYPING)) return;
    const rows = [...document.querySelectorAll<HTMLTableRowElement>("#runs tbody tr")];
    const at = rows.findIndex((row) => row.contains(document.activeElement));
    if (event.key === "x") rows[at]?.querySelector<HTMLInputElement>("[name=run]")?.click();
    const step = STEPS[event.key];
    if (!step || (at < 0 && event.key.startsWith("Arrow"))) return;
    const next = rows[at < 0 ? 0 : at + step]?.querySelector<HTMLElement>(".run-name");
    if (!next) return;
    event.preventDefault();
    next.focus();
  });
}
