// Keeps relative times current while a page is open.
import { ago } from "../shared/figures";

function refresh(): void {
  const now = new Date();
  for (const time of document.querySelectorAll("time[datetime]")) {
    if (time.closest(".log")) continue;
    const then = new Date(time.getAttribute("datetime") ?? "");
    if (!Number.isNaN(then.getTime())) time.textContent = ago(then, now);
  }
}

export function startTimes(): void {
  refresh();
  setInterval(refresh, 30_000);
  document.addEventListener("htmx:after:swap", refresh);
}
