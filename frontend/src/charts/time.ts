// Entry of the time pages: their charts, from the JSON in the page, with their downloads.
import { pause } from "../shared/frames";
import { categoryTitle } from "../shared/naming";
import { byCategory, type Drawn, eagerAndCompiled, groups, timeline } from "./bars";
import { type Rows, startTableDownloads } from "./download";
import { offer } from "./offer";
import { plot } from "./plot";
import type { TimeData } from "./time-data";

const CHARTS: Record<string, { draw(data: TimeData): Drawn; rows(data: TimeData): Rows }> = {
  "eager-compiled": {
    draw: eagerAndCompiled,
    rows: (data) => [
      ["", "ms a step"],
      ["eager", data.timings.eager?.median_ms ?? data.eager_ms ?? ""],
      ["compiled", data.timings.compiled?.median_ms ?? data.compiled_ms ?? ""],
    ],
  },
  groups: {
    draw: groups,
    rows: (data) => [
      ["group", `eager µs ${data.per}`, `compiled µs ${data.per}`],
      ...data.groups.map((one) => [one.group, one.eager_us, one.compiled_us]),
    ],
  },
  timeline: {
    draw: timeline,
    rows: (data) => [
      ["part", "idle", "µs of the trace", "share"],
      ...(data.timeline?.parts ?? []).map((part) => [
        part.name,
        part.idle ? "idle" : "busy",
        part.us,
        part.share,
      ]),
    ],
  },
  categories: {
    draw: byCategory,
    rows: (data) => [
      ["kind", `runs ${data.per}`, `µs ${data.per}`],
      ...data.categories.map((one) => [
        categoryTitle(one.category),
        one.calls / data.steps,
        one.us / data.steps,
      ]),
    ],
  },
};

async function start(): Promise<void> {
  startTableDownloads();
  const carried = document.querySelector("#time-data")?.textContent;
  if (!carried) return;
  const data = JSON.parse(carried) as TimeData;
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    await pause(); // each in a task of its own
    const name = place.dataset.chart ?? "";
    const made = CHARTS[name];
    if (!made) continue;
    plot(place, made.draw(data));
    offer(name, place, () => made.rows(data));
  }
}

void start();
