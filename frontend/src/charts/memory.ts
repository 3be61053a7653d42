// Entry of the memory page: memory in use along the wrapper, and the lifetimes of its buffers.

import type { Life, Point } from "../shared/api";
import { bytes } from "../shared/figures";
import { offer } from "./offer";
import { type Chart, type Colours, listen, named, plot, startChart } from "./plot";

interface Memory {
  points: Point[];
  lives: Life[];
  peak: number;
  peak_line: number;
  first_line: number;
  last_line: number;
  line_url: string;
}

const STANDS_FOR_A_LINE = "987654321";
/** Height of a curve, in rows of 26 px. */
const TALL = 11;

function held(data: Memory) {
  const totals = data.points.map((point) => point.live + point.inputs);
  const power = Math.min(3, Math.floor(Math.log2(Math.max(1, ...totals)) / 10));
  const size = 1024 ** power;
  const lines = data.points.map((point) => point.line);
  const curve = (name: string, values: number[], colour: string, fill: boolean) => ({
    type: "scatter",
    mode: "lines",
    name,
    x: lines,
    y: values.map((value) => value / size),
    customdata: values.map((value) => bytes(value)),
    line: { shape: "hv", width: fill ? 1.6 : 1.2, color: colour, dash: fill ? "solid" : "dot" },
    fill: fill ? "tozeroy" : "none",
    hovertemplate: `line %{x}: %{customdata} ${name}<extra></extra>`,
  });
  return (colours: Colours, narrow: boolean): Chart => ({
    rows: TALL,
    traces: [
      curve(
        "allocated here",
        data.points.map((point) => point.live),
        colours("temporary"),
        true,
      ),
      curve("with inputs not yet freed", totals, colours("input"), false),
      {
        type: "scatter",
        mode: "markers+text",
        name: "peak",
        x: [data.peak_line],
        y: [data.peak / size],
        text: [`peak ${bytes(data.peak)}`],
        textposition: data.peak_line > (data.first_line + data.last_line) / 2 ? "left" : "right",
        marker: { size: 9, color: colours("heat"), symbol: "diamond" },
        hovertemplate: `peak after line %{x}: ${bytes(data.peak)}<extra></extra>`,
      },
    ],
    layout: {
      showlegend: !narrow,
      legend: { orientation: "h", y: 1.08, x: 0 },
      margin: { l: 8, r: 16, t: 20, b: 36 },
      xaxis: { title: { text: "line of the output code", font: { size: 12 } }, tickformat: "d" },
      yaxis: {
        title: { text: `${["B", "KiB", "MiB", "GiB"][power]} held`, font: { size: 12 } },
        rangemode: "tozero",
        showgrid: true,
      },
    },
  });
}

/** The name also determines its colour. */
function roleOf({ role }: Life): string {
  return role === "intermediate" ? "temporary" : role;
}

function lives(data: Memory) {
  const rows = [...data.lives].reverse();
  const most = Math.max(1, ...rows.map((life) => life.nbytes));
  return (colours: Colours, narrow: boolean): Chart => ({
    rows: rows.length * 0.72 + 1,
    traces: [
      {
        type: "bar",
        orientation: "h",
        base: rows.map((life) => life.born),
        x: rows.map((life) => Math.max(1, life.freed - life.born)),
        y: rows.map((_, at) => at),
        width: rows.map((life) => 0.25 + 0.65 * Math.sqrt(life.nbytes / most)),
        customdata: rows.map((life) => [life.name, bytes(life.nbytes), roleOf(life), life.freed]),
        marker: {
          color: rows.map((life) => colours(roleOf(life))),
          line: {
            color: colours("ink"),
            width: rows.map((life) => (life.at_peak ? 1.4 : 0)),
          },
        },
        hovertemplate:
          "%{customdata[0]}: %{customdata[1]}, %{customdata[2]}, lines %{base} to %{customdata[3]}<extra></extra>",
      },
    ],
    layout: {
      xaxis: {
        title: { text: "line of the output code", font: { size: 12 } },
        range: [data.first_line, data.last_line],
        tickformat: "d",
      },
      yaxis: {
        ...named(rows.map(({ name, nbytes }) => (narrow ? name : `${name}  ${bytes(nbytes)}`))),
        tickfont: { size: 10.5 },
      },
    },
  });
}

startChart("memory", (data: Memory) => {
  const charts = {
    held: {
      make: held(data),
      rows: () => [
        ["line", "allocated_bytes", "inputs_bytes"],
        ...data.points.map((point) => [point.line, point.live, point.inputs]),
      ],
    },
    lives: {
      make: lives(data),
      rows: () => [
        ["buffer", "role", "bytes", "first_line", "last_line", "at_peak"],
        ...data.lives.map((life) => [
          life.name,
          life.role,
          life.nbytes,
          life.born,
          life.freed,
          life.at_peak,
        ]),
      ],
    },
  };
  for (const [name, chart] of Object.entries(charts)) {
    const place = document.querySelector<HTMLElement>(`[data-memory-chart="${name}"]`);
    if (!place) continue;
    plot(place, chart.make);
    listen(place, "click", ({ base, x }) => {
      const line = Math.round(base ?? x ?? 1);
      location.assign(data.line_url.replace(STANDS_FOR_A_LINE, String(line)));
    });
    offer(name, place, chart.rows);
  }
});
