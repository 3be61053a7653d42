// The page of one job: progress, log and outcome are updated from the stream.
import type { JobProgress } from "../shared/api";
import { make } from "../shared/elements";
import { figureOf, follow, OVER } from "./progress";

function logLine(line: { at: string; level: string; text: string }): HTMLElement {
  const clock = new Date(line.at).toLocaleTimeString([], { hour12: false });
  return make("li", { class: line.level }, make("time", { datetime: line.at }, clock), line.text);
}

export function startJob(): void {
  const page = document.querySelector<HTMLElement>("[data-job-events]");
  if (!page?.dataset.jobEvents) return;
  const field = (name: string) => page.querySelector<HTMLElement>(`[data-job="${name}"]`);
  const bar = page.querySelector<HTMLProgressElement>("progress");
  const log = page.querySelector<HTMLElement>(".log");
  let first = true;
  const update = (progress: JobProgress) => {
    // The run can be opened while it is being read.
    const run = document.querySelector<HTMLAnchorElement>("#job-run");
    if (run) {
      run.hidden = !progress.run;
      if (progress.run) run.href = `/runs/${progress.run}`;
    }
    const [state, step, figure] = [field("state"), field("step"), field("figure")];
    if (state) state.textContent = progress.state;
    if (step) step.textContent = progress.step;
    if (figure) figure.textContent = figureOf(progress);
    if (bar && progress.total) bar.value = progress.done / progress.total;
    else bar?.removeAttribute("value");
    if (log && progress.log.length) {
      const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
      const lines = progress.log.map(logLine);
      if (first) log.replaceChildren(...lines);
      else log.append(...lines);
      log.hidden = false;
      field("silent")?.remove();
      if (atEnd) log.scrollTop = log.scrollHeight;
    }
    first = false;
    if (OVER.has(progress.state)) location.reload(); // the server renders the finished page
  };
  follow(page.dataset.jobEvents, update, (isAway) => {
    const step = field("step");
    if (step && isAway) step.textContent = "The server is unreachable; waiting for it …";
  });
}
