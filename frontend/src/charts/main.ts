// Entry of the time page: its charts, from the JSON that the page carries.
import { hueOf } from "../elements";
import { microseconds } from "../figures";
import { type Colours, plot } from "./plot";

interface Timing {
  median_ms?: number;
  mean_ms?: number;
  p10?: number;
  p90?: number;
}

export interface TimeCharts {
  eager_ms: number | null;
  compiled_ms: number | null;
  timings: Record<string, Timing>;
  categories: { category: string; time_us: number; kernels: number; share: number }[];
  kernels: {
    name: string;
    kind: string;
    category: string;
    time_us: number | null;
    call_count: number;
  }[];
}

const TOP = 12;

function short(name: string, most = 34): string {
  return name.length <= most ? name : `${name.slice(0, most - 13)}…${name.slice(-12)}`;
}

/** Plotly reads some markup in labels; what comes from a trace is text. */
function plain(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

function eagerAndCompiled(data: TimeCharts) {
  const medians: Record<string, number | null> = {
    compiled: data.timings.compiled?.median_ms ?? data.compiled_ms,
    eager: data.timings.eager?.median_ms ?? data.eager_ms,
  };
  const labels = ["compiled", "eager"].filter((label) => medians[label] != null);
  return (colours: Colours) => ({
    traces: labels.map((label) => {
      const timing = data.timings[label] ?? {};
      const colour = colours(label === "compiled" ? "accent" : "other");
      const median = medians[label] ?? 0;
      return {
        type: "bar",
        orientation: "h",
        name: label,
        x: [median],
        y: [label],
        width: 0.5,
        text: [microseconds(median * 1000)],
        textposition: "inside",
        insidetextanchor: "start",
        insidetextfont: { color: colours(label === "compiled" ? "accent-ink" : "panel") },
        marker: { color: colour },
        error_x: {
          type: "data",
          symmetric: false,
          array: [Math.max(0, (timing.p90 ?? median) - median)],
          arrayminus: [Math.max(0, median - (timing.p10 ?? median))],
          color: colours("ink"),
          thickness: 1.2,
        },
        hovertemplate: `${label}: ${timing.median_ms ? "median" : "mean"} %{x:.4~g} ms<extra></extra>`,
      };
    }),
    layout: { xaxis: { title: { text: "ms a step" }, rangemode: "tozero" } },
  });
}

function byCategory(data: TimeCharts) {
  const rows = [...data.categories].sort((a, b) => a.time_us - b.time_us);
  return (colours: Colours) => ({
    traces: [
      {
        type: "bar",
        orientation: "h",
        x: rows.map((row) => row.time_us),
        y: rows.map((row) => plain(row.category)),
        text: rows.map((row) => microseconds(row.time_us)),
        textposition: "outside",
        cliponaxis: false,
        marker: { color: rows.map((row) => colours(hueOf(row.category, row.category))) },
        hovertemplate: "%{y}: %{text}<extra></extra>",
      },
    ],
    layout: { xaxis: { title: { text: "µs a step" } } },
  });
}

function topKernels(data: TimeCharts) {
  const timed = data.kernels.filter((kernel) => kernel.time_us !== null);
  timed.sort((a, b) => (b.time_us ?? 0) - (a.time_us ?? 0));
  const rows = timed.slice(0, TOP).reverse();
  return (colours: Colours) => ({
    traces: [
      {
        type: "bar",
        orientation: "h",
        x: rows.map((row) => row.time_us ?? 0),
        y: rows.map((_, at) => at),
        text: rows.map((row) => microseconds(row.time_us ?? 0)),
        textposition: "outside",
        cliponaxis: false,
        hovertext: rows.map((row) => plain(row.name)),
        marker: { color: rows.map((row) => colours(hueOf(row.kind, row.category))) },
        hovertemplate: "%{hovertext}<br>%{text}<extra></extra>",
      },
    ],
    layout: {
      xaxis: { title: { text: "µs a step" } },
      yaxis: {
        tickvals: rows.map((_, at) => at),
        ticktext: rows.map((row) => plain(short(row.name))),
      },
    },
  });
}

const CHARTS: Record<
  string,
  (data: TimeCharts) => (colours: Colours) => { traces: object[]; layout: Record<string, unknown> }
> = {
  "eager-compiled": eagerAndCompiled,
  categories: byCategory,
  kernels: topKernels,
};

function start(): void {
  const carried = document.querySelector("#time-data")?.textContent;
  if (!carried) return;
  const data = JSON.parse(carried) as TimeCharts;
  for (const place of document.querySelectorAll<HTMLElement>("[data-chart]")) {
    const make = CHARTS[place.dataset.chart ?? ""];
    if (make) plot(place, make(data));
  }
}

start();
