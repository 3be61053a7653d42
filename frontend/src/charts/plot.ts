// Charts drawn by Plotly, whose defaults here send nothing anywhere and follow the page's
// theme.
import bar from "plotly.js/lib/bar";
import Plotly from "plotly.js/lib/core";
import treemap from "plotly.js/lib/treemap";
import { colourOf } from "../shared/theme";
import { CONFIG } from "./config";
import { startTableDownloads } from "./download";

Plotly.register([bar, treemap]);

export interface Chart {
  /** Number of bars below each other. */
  rows: number;
  /** Its height in pixels, if it does not follow from the bars. */
  height?: number;
  traces: object[];
  layout: Record<string, unknown>;
}

export type Colours = (token: string) => string;

/** A clicked point, as Plotly tells it. */
interface Picked {
  id?: string;
  x?: number;
  base?: number;
  customdata?: string[];
  pointNumber?: number;
  data?: { name?: string; mode?: string };
}
type Listens = (event: string, then: (what?: { points?: Picked[] }) => unknown) => void;

export function listen(
  place: HTMLElement,
  event: "click" | "treemapclick" | "afterplot",
  then: (point: Picked) => unknown,
): void {
  const { on } = place as HTMLElement & { on?: Listens };
  on?.call(place, `plotly_${event}`, (what) => then(what?.points?.[0] ?? {}));
}

/** The page's chart with its data, from `<script id="name-data">`; `start` draws it. */
export function startChart<Data>(
  name: string,
  start: (data: Data, place: HTMLElement) => void,
): void {
  startTableDownloads();
  const carried = document.querySelector(`#${name}-data`)?.textContent;
  const place = document.querySelector<HTMLElement>(`[data-${name}-chart]`);
  if (carried && place) start(JSON.parse(carried) as Data, place);
}

/** The ticks of an axis with a name for each row. */
export function named(names: string[]) {
  return { tickvals: names.map((_, at) => at), ticktext: names };
}

/** Height of one bar with its gap, and of the axis, in pixels; `.plot[data-bars]` reserves as
 * much. */
const ROW = 24;
const AXIS = 44;
/** Below this width, labels are cut shorter and there are fewer ticks. */
const NARROW = 480;

function themed(layout: Record<string, unknown>, narrow: boolean): Record<string, unknown> {
  const axis = {
    gridcolor: colourOf("line"),
    linecolor: colourOf("line"),
    zerolinecolor: colourOf("line"),
    automargin: true,
    fixedrange: true,
  };
  return {
    margin: { l: 8, r: 64, t: 4, b: 36 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colourOf("ink") },
    hoverlabel: { bgcolor: colourOf("panel"), font: { color: colourOf("ink") } },
    showlegend: false,
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    bargap: 0.35,
    ...layout,
    xaxis: {
      ...axis,
      nticks: narrow ? 4 : 7,
      tickangle: 0,
      ...(layout.xaxis as object | undefined),
    },
    yaxis: { ...axis, showgrid: false, zeroline: false, ...(layout.yaxis as object | undefined) },
  };
}

/** Draw, and redraw when the theme or the space for labels changes; returns a function that
 * redraws. */
export function plot(
  into: HTMLElement,
  chart: (colours: Colours, narrow: boolean) => Chart,
): () => void {
  let narrow = false;
  const draw = () => {
    narrow = into.clientWidth < NARROW;
    const { rows, height, traces, layout } = chart(colourOf, narrow);
    into.style.height = `${height ?? rows * ROW + AXIS}px`;
    void Plotly.react(into, traces, themed(layout, narrow), CONFIG);
  };
  draw();
  document.addEventListener("themechange", draw);
  window.addEventListener("resize", () => {
    if (into.clientWidth > 0 && into.clientWidth < NARROW !== narrow) draw();
  });
  return draw;
}
