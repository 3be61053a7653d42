// Entry of the time page: its charts, from the JSON that the page carries.
import { hueOf, spoken } from "../elements";
import { microseconds, unitOfTime } from "../figures";
import { type Chart, type Colours, plot } from "./plot";

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

function short(name: string, most: number): string {
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
  const most = Math.max(...labels.map((label) => data.timings[label]?.p90 ?? medians[label] ?? 0));
  const { unit, size } = unitOfTime(most * 1000);
  const scaled = (ms: number) => (ms * 1000) / size;
  return (colours: Colours) => ({
    rows: labels.length,
    traces: labels.map((label, at) => {
      const { median_ms, p10, p90 } = data.timings[label] ?? {};
      const median = medians[label] ?? 0;
      const what = median_ms === undefined ? "mean" : "median";
      return {
        type: "bar",
        orientation: "h",
        name: label,
        x: [scaled(median)],
        y: [at],
        marker: { color: colours(label === "compiled" ? "accent" : "other") },
        error_x: {
          type: "data",
          visible: p10 !== undefined && p90 !== undefined,
          symmetric: false,
          array: [scaled(Math.max(0, (p90 ?? median) - median))],
          arrayminus: [scaled(Math.max(0, median - (p10 ?? median)))],
          color: colours("ink"),
          thickness: 1.2,
        },
        hovertemplate: `${label}: ${what} %{x:.4~g} ${unit}<extra></extra>`,
      };
    }),
    layout: {
      barmode: "overlay",
      xaxis: { title: { text: `${unit} a step`, font: { size: 12 } }, rangemode: "tozero" },
      yaxis: {
        tickvals: labels.map((_, at) => at),
        // Beside the bar, where neither a short bar nor a whisker is in its way.
        ticktext: labels.map((label) => `${label}  ${microseconds((medians[label] ?? 0) * 1000)}`),
      },
    },
  });
}

/** Horizontal bars of times, the first at the bottom. */
function times(rows: readonly { label: string; whole: string; hue: string; time_us: number }[]) {
  const { unit, size } = unitOfTime(Math.max(0, ...rows.map((row) => row.time_us)));
  return (colours: Colours, narrow: boolean) => ({
    rows: rows.length,
    traces: [
      {
        type: "bar",
        orientation: "h",
        x: rows.map((row) => row.time_us / size),
        y: rows.map((_, at) => at),
        text: rows.map((row) => microseconds(row.time_us)),
        textposition: "outside",
        cliponaxis: false,
        hovertext: rows.map((row) => plain(row.whole)),
        marker: { color: rows.map((row) => colours(row.hue)) },
        hovertemplate: "%{hovertext}: %{text}<extra></extra>",
      },
    ],
    layout: {
      xaxis: { title: { text: `${unit} a step`, font: { size: 12 } } },
      yaxis: {
        tickvals: rows.map((_, at) => at),
        ticktext: rows.map((row) => plain(short(row.label, narrow ? 22 : 34))),
      },
    },
  });
}

function byCategory(data: TimeCharts) {
  const rows = data.categories.map(({ category, time_us }) => {
    const label = spoken(category);
    return { label, whole: label, hue: hueOf(category, category), time_us };
  });
  return times(rows.sort((a, b) => a.time_us - b.time_us));
}

function topKernels(data: TimeCharts) {
  const rows = data.kernels.flatMap(({ name, kind, category, time_us }) =>
    time_us === null ? [] : [{ label: name, whole: name, hue: hueOf(kind, category), time_us }],
  );
  rows.sort((a, b) => b.time_us - a.time_us);
  return times(rows.slice(0, TOP).reverse());
}

const CHARTS: Record<string, (data: TimeCharts) => (colours: Colours, narrow: boolean) => Chart> = {
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
