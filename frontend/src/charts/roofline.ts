// Entry of the roofline page: kernels below the limits of memory and arithmetic.

import type { Dot as Kernel, Peaks } from "../shared/api";
import { microseconds, perSecond, share } from "../shared/figures";
import { hueOf } from "../shared/naming";
import { plain, short } from "./bars";
import { offer } from "./offer";
import { type Chart, type Colours, listen, plot, startChart } from "./plot";

interface Roofline {
  peaks: Peaks;
  kernels: Kernel[];
}

/** Operations per byte below which a point would be outside the chart. */
const LEAST = 1 / 64;
const TALL = 15;
/** Most characters of shapes in a tooltip. */
const LONGEST = 70;

interface Dot {
  kernel: Kernel;
  intensity: number;
  rate: number;
}

/** Positions of kernels: operations per byte, and operations per second. Copies count as almost
 * none. */
function dots(kernels: readonly Kernel[]): Dot[] {
  return kernels.flatMap((kernel) => {
    const seconds = kernel.time_us / 1e6;
    if (!kernel.bytes || !seconds) return [];
    const done = Math.max(kernel.operations ?? 0, kernel.bytes * LEAST);
    return [{ kernel, intensity: done / kernel.bytes, rate: done / seconds }];
  });
}

function standingOf(kernel: Kernel): string {
  if (kernel.small) return kernel.launch || "too small to judge";
  return kernel.share === null ? "its roof is unknown" : `${share(kernel.share)} of its roof`;
}

function chart(data: Roofline, placed: Dot[]) {
  const used = new Set(placed.map((dot) => dot.kernel.dtype));
  const peaks = Object.entries(data.peaks.matmul).filter(
    ([dtype]) => dtype === "float32" || used.has(dtype),
  );
  const limits = [...Map.groupBy(peaks, ([, rate]) => rate)]
    .map(([rate, alike]) => [alike.map(([dtype]) => dtype).join(", "), rate] as const)
    .sort((a, b) => b[1] - a[1]);
  const top = limits[0]?.[1] ?? data.peaks.vector;
  const right = Math.max(4 * (top / data.peaks.memory), ...placed.map((dot) => dot.intensity * 2));
  const left = Math.min(LEAST, ...placed.map((dot) => dot.intensity)) / 2;
  const longest = Math.max(...placed.map((dot) => dot.kernel.time_us), 1e-9);
  return (colours: Colours, narrow: boolean): Chart => ({
    rows: TALL,
    traces: [
      {
        type: "scatter",
        mode: "lines",
        x: [left, top / data.peaks.memory],
        y: [left * data.peaks.memory, top],
        line: { color: colours("edge"), width: 1.5 },
        hovertemplate: `memory: ${perSecond(data.peaks.memory, "B")}<extra></extra>`,
      },
      ...(data.peaks.cache
        ? [
            {
              type: "scatter",
              mode: "lines+text",
              x: [left, top / data.peaks.cache],
              y: [left * data.peaks.cache, top],
              text: [narrow ? "" : "cache", ""],
              textposition: "top right",
              line: { color: colours("edge"), width: 1.5, dash: "dot" },
              hovertemplate: `cache: ${perSecond(data.peaks.cache, "B")}<extra></extra>`,
            },
          ]
        : []),
      ...limits.map(([dtype, rate]) => ({
        type: "scatter",
        mode: "lines+text",
        x: [rate / data.peaks.memory, right],
        y: [rate, rate],
        text: ["", narrow ? "" : dtype],
        textposition: "top left",
        line: { color: colours("edge"), width: 1.5, dash: rate === top ? "solid" : "dot" },
        hovertemplate: `${dtype}: ${(rate / 1e12).toPrecision(3)} TFLOP/s<extra></extra>`,
      })),
      {
        type: "scatter",
        mode: "markers",
        x: placed.map((dot) => dot.intensity),
        y: placed.map((dot) => dot.rate),
        customdata: placed.map(({ kernel }) => [
          plain(kernel.name) + (kernel.shapes ? `<br>${plain(short(kernel.shapes, LONGEST))}` : ""),
          microseconds(kernel.time_us),
          standingOf(kernel),
          kernel.operations ? "" : ": it has none, this is the least drawn",
        ]),
        marker: {
          color: placed.map((dot) => colours(hueOf(dot.kernel.category))),
          size: placed.map((dot) => 6 + 26 * Math.sqrt(dot.kernel.time_us / longest)),
          symbol: placed.map((dot) => (dot.kernel.over ? "triangle-up" : "circle")),
          opacity: placed.map((dot) => (dot.kernel.small ? 0.25 : 0.75)),
          line: { color: colours("panel"), width: 1 },
        },
        hovertemplate:
          "%{customdata[0]}<br>%{customdata[1]} a step, %{customdata[2]}<br>%{x:.3~g} operations a byte%{customdata[3]}<extra></extra>",
      },
    ],
    layout: {
      margin: { l: 8, r: 16, t: 8, b: 40 },
      xaxis: {
        type: "log",
        title: { text: "operations a byte", font: { size: 12 } },
        range: [Math.log10(left), Math.log10(right)],
        dtick: 1,
      },
      yaxis: {
        type: "log",
        title: { text: "operations a second", font: { size: 12 } },
        tickformat: "~s", // powers of ten would need inline styles, which pages forbid
        showgrid: true,
        dtick: 1,
      },
    },
  });
}

startChart("roofline", (data: Roofline, place) => {
  const placed = dots(data.kernels);
  plot(place, chart(data, placed));
  listen(place, "click", ({ data, pointNumber }) => {
    const href = data?.mode === "markers" ? placed[pointNumber ?? -1]?.kernel.href : null;
    if (href) location.assign(href);
  });
  offer("roofline", place, () => [
    ["kernel", "graph", "time_us", "bytes", "operations", "share_of_roof", "share_of_step_saved"],
    ...placed.map(({ kernel }) => [
      kernel.name,
      kernel.graph,
      kernel.time_us,
      kernel.bytes,
      kernel.operations,
      kernel.share,
      kernel.saves,
    ]),
  ]);
});
