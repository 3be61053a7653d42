// Entry of the time pages: their charts, from the JSON in the page, with their downloads.
import { pause } from "../shared/frames";
import { categoryTitle } from "../shared/naming";
import { byCategory, type Drawn, groups, timeline } from "./bars";
import { type Rows, startTableDownloads } from "./download";
import { cutLabels, timeMap } from "./map";
import { offer } from "./offer";
import { listen, plot } from "./plot";
import type { TimeData } from "./time-data";

const CHARTS: Record<string, { draw(data: TimeData): Drawn; rows(data: TimeData): Rows }> = {
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

/** The map. Clicking a line zooms to it and filters the table of lines, a
 * kernel opens its page, and a button goes back. */
function startMap(place: HTMLElement, data: TimeData): void {
  const tiles = new Map(data.map.map((tile) => [tile.id, tile]));
  const back = document.querySelector<HTMLButtonElement>("button[data-map-back]");
  let level = "";
  const redraw = plot(place, (colours, narrow) => timeMap(data, level)(colours, narrow));
  offer("map", place, () => [
    ["tile", "in", "name", "shared µs a step"],
    ...data.map.map((tile) => [tile.id, tile.parent, tile.label, tile.us]),
  ]);
  const show = (id: string) => {
    level = id;
    if (back) back.hidden = level === "";
    showLine(/^line (\d+)/.exec(level)?.[1]);
    redraw();
  };
  back?.addEventListener("click", () => show(tiles.get(level)?.parent ?? ""));
  listen(place, "treemapclick", ({ id }) => {
    const tile = tiles.get(id ?? "");
    if (tile?.href) location.assign(tile.href);
    else show(tile && tile.id !== level ? tile.id : (tile?.parent ?? ""));
    return false; // Plotly's own zoom has no visible way back
  });
  listen(place, "afterplot", () => cutLabels(place));
  cutLabels(place);
}

function showLine(number: string | undefined): void {
  for (const row of document.querySelectorAll<HTMLTableRowElement>("#lines-table tr[data-line]")) {
    const chosen = row.dataset.line === number;
    row.classList.toggle("chosen", chosen);
    if (chosen) row.hidden = false;
  }
}

async function start(): Promise<void> {
  startTableDownloads();
  const carried = document.querySelector("#time-data")?.textContent;
  if (!carried) return;
  const data = JSON.parse(carried) as TimeData;
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    await pause(); // each in a task of its own
    const name = place.dataset.chart ?? "";
    const made = CHARTS[name];
    if (made) {
      plot(place, made.draw(data));
      offer(name, place, () => made.rows(data));
    } else if (name === "map") startMap(place, data);
  }
}

void start();
