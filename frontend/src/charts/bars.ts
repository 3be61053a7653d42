// Bars of times: one below the other, or in pairs.

import { microseconds, share as percent, unitOfTime } from "../shared/figures";
import { categoryTitle, hueOf } from "../shared/naming";
import { type Chart, type Colours, named } from "./plot";
import type { TimeData } from "./time-data";

export type Drawn = (colours: Colours, narrow: boolean) => Chart;

export function short(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, most - 13)}…${name.slice(-12)}`;
}

/** Plotly interprets some markup in labels, so text from a trace is escaped. */
export function plain(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
}

interface Row {
  label: string;
  us: number;
  hue: string;
  note?: string;
}

/** Horizontal bars of times, the first at the top. */
function times(rows: readonly Row[], of: string): Drawn {
  const upwards = [...rows].reverse();
  const { unit, size } = unitOfTime(Math.max(0, ...rows.map((row) => row.us)));
  return (colours, narrow) => ({
    rows: rows.length,
    traces: [
      {
        type: "bar",
        orientation: "h",
        x: upwards.map((row) => row.us / size),
        y: upwards.map((_, at) => at),
        text: upwards.map((row) => [microseconds(row.us), row.note].filter(Boolean).join("  ")),
        textposition: "outside",
        cliponaxis: false,
        hovertext: upwards.map((row) => plain(row.label)),
        marker: { color: upwards.map((row) => colours(row.hue)) },
        hovertemplate: "%{hovertext}: %{text}<extra></extra>",
      },
    ],
    layout: {
      margin: { l: 8, r: 104, t: 4, b: 36 },
      xaxis: { title: { text: `${unit} ${of}`, font: { size: 12 } } },
      yaxis: named(upwards.map((row) => plain(short(row.label, narrow ? 22 : 34)))),
    },
  });
}

export function byCategory(data: TimeData): Drawn {
  const whole = data.categories.reduce((sum, part) => sum + part.us, 0);
  const rows = data.categories.map(({ category, us }) => ({
    label: categoryTitle(category),
    hue: hueOf(category),
    us: us / data.steps,
    note: percent(whole ? us / whole : 0),
  }));
  return times(rows, data.per);
}

const BUSY_HUES: Record<string, string> = {
  computing: "busy",
  "communication alone": "moving",
  "copies alone": "moving",
};

export function timeline(data: TimeData): Drawn {
  const rows = (data.timeline?.parts ?? []).map(({ name, us, share, idle }) => ({
    label: idle ? `idle: ${name}` : categoryTitle(name),
    hue: idle ? "idle" : (BUSY_HUES[name] ?? hueOf(name)),
    us,
    note: percent(share),
  }));
  return times(rows, "of the trace");
}

/** Two bars per group: eager above compiled. */
export function groups(data: TimeData): Drawn {
  const upwards = [...data.groups].reverse();
  const most = Math.max(0, ...data.groups.flatMap((one) => [one.eager_us, one.compiled_us]));
  const { unit, size } = unitOfTime(most);
  const side = (label: string, of: (one: TimeData["groups"][number]) => number, hue: string) => {
    return (colours: Colours) => ({
      type: "bar",
      orientation: "h",
      name: label,
      x: upwards.map((one) => of(one) / size),
      y: upwards.map((_, at) => at),
      text: upwards.map((one) => `${label} ${microseconds(of(one))}`),
      textposition: "outside",
      cliponaxis: false,
      marker: { color: colours(hue) },
      hovertext: upwards.map((one) => plain(one.group)),
      hovertemplate: "%{hovertext}: %{text}<extra></extra>",
    });
  };
  const compiled = side("compiled", (one) => one.compiled_us, "accent");
  const eager = side("eager", (one) => one.eager_us, "eager");
  return (colours, narrow) => ({
    rows: data.groups.length * 2,
    traces: [compiled(colours), eager(colours)],
    layout: {
      barmode: "group",
      bargap: 0.25,
      margin: { l: 8, r: 124, t: 4, b: 36 },
      xaxis: { title: { text: `${unit} ${data.per}`, font: { size: 12 } } },
      yaxis: named(upwards.map((one) => plain(short(one.group, narrow ? 20 : 34)))),
    },
  });
}
