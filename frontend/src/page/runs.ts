// Keys in the list of runs: j and k go to the next and the previous run, x ticks it. On a run, the
// arrows do as j and k.
import { key, listen } from "../shared/keys";

const rows = () => [
  ...document.querySelectorAll<HTMLTableRowElement>("#runs tbody tr:not(.group)"),
];
const at = () => rows().findIndex((row) => row.contains(document.activeElement));

function step(by: 1 | -1): void {
  const from = at();
  rows()[from < 0 ? 0 : from + by]?.querySelector<HTMLElement>(".run-name")?.focus();
}

export function startRuns(): void {
  const table = document.querySelector<HTMLElement>("div#runs");
  if (!table) return;
  const tick = () => rows()[at()]?.querySelector<HTMLInputElement>("[name=run]")?.click();
  listen(document.body, [
    key(["j"], "j", "to the next run", () => step(1)),
    key(["k"], "k", "to the previous run", () => step(-1)),
    key(["x"], "x", "tick the run, to compare it", tick),
  ]);
  // The table is replaced as it changes.
  document.addEventListener("keydown", (event) => {
    if (!event.key.match(/^Arrow(Up|Down)$/) || at() < 0 || event.altKey) return;
    event.preventDefault();
    step(event.key === "ArrowDown" ? 1 : -1);
  });
}
