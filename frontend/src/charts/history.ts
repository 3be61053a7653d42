// Entry of the history page: a figure, run by run, and the levels between its changes.
import type { HistoryRun } from "../shared/api";
import { count, microseconds, unitOfTime } from "../shared/figures";
import { plain } from "./bars";
import { offer } from "./offer";
import { type Chart, type Colours, listen, plot, startChart } from "./plot";

interface History {
  runs: HistoryRun[];
  title: string;
  unit: "us" | "ms" | "s" | "ratio" | "count";
  /** Positions of the first runs of new levels, and the median of each level. */
  places: number[];
  levels: number[];
  /** The page of a run, with `RUN` in place of its id. */
  run_url: string;
}

const TIMES: Record<string, number> = { us: 1, ms: 1e3, s: 1e6 };
const TALL = 11;
const DEVICES = ["pointwise", "reduction", "extern", "gemm"];

function chart(data: History) {
  const { runs, places, levels } = data;
  const inUs = TIMES[data.unit];
  const axis = unitOfTime(Math.max(...runs.map(({ value }) => (value ?? 0) * (inUs ?? 1))));
  const scale = inUs ? inUs / axis.size : 1;
  const unit = inUs ? axis.unit : data.unit === "ratio" ? "×" : "";
  const words = (value: number) =>
    inUs ? microseconds(value * inUs) : unit ? `${value.toFixed(2)}×` : count(value, "").trim();
  const devices = [...new Set(runs.map(({ device }) => device ?? "—"))];
  const share = (values: number[], part: number) =>
    (values[Math.round(part * (values.length - 1))] ?? 0) * scale;
  const bands = levels.map((_, at) => {
    const [from, to] = [places[at - 1] ?? 0, places[at] ?? runs.length];
    const own = runs.slice(from, to).map(({ value }) => value ?? 0);
    own.sort((a, b) => a - b);
    return { x0: from + 0.5, x1: to + 0.5, y0: share(own, 0.1), y1: share(own, 0.9) };
  });
  const points = runs.map((run, at) => ({ run, at: at + 1 }));
  return (colours: Colours): Chart => ({
    rows: TALL,
    traces: [
      ...devices.map((device, number) => {
        const own = points.filter(({ run }) => (run.device ?? "—") === device);
        return {
          type: "scatter",
          mode: "markers",
          name: plain(device),
          x: own.map(({ at }) => at),
          y: own.map(({ run }) => (run.value ?? 0) * scale),
          customdata: own.map(({ run }) => [
            words(run.value ?? 0),
            plain(`${run.name} ${run.id.slice(0, 6)}`),
            `${run.created_at.slice(0, 16).replace("T", " ")} UTC`,
            plain(`torch ${run.torch_version ?? "—"}, ${device}`),
            run.id,
          ]),
          error_y: {
            type: "data",
            symmetric: false,
            array: own.map(({ run }) => ((run.high ?? run.value ?? 0) - (run.value ?? 0)) * scale),
            arrayminus: own.map(
              ({ run }) => ((run.value ?? 0) - (run.low ?? run.value ?? 0)) * scale,
            ),
            thickness: 1,
            width: 0,
          },
          marker: {
            color: colours(DEVICES[number % DEVICES.length] ?? "ink"),
            size: runs.length > 300 ? 4 : 7,
          },
          hovertemplate:
            "%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}<br>%{customdata[3]}<extra></extra>",
        };
      }),
      ...levels.map((level, at) => ({
        type: "scatter",
        mode: "lines",
        x: [bands[at]?.x0, bands[at]?.x1],
        y: [level * scale, level * scale],
        line: { color: colours("warn"), width: 2 },
        hoverinfo: "skip",
        showlegend: false,
      })),
    ],
    layout: {
      shapes: bands.map((band) => ({
        type: "rect",
        layer: "below",
        fillcolor: colours("warn"),
        opacity: 0.16,
        line: { width: 0 },
        ...band,
      })),
      showlegend: devices.length > 1,
      margin: { l: 8, r: 16, t: 8, b: 40 },
      xaxis: {
        title: { text: "run, the newest last", font: { size: 12 } },
        range: [0.5, runs.length + 0.5],
        ...(runs.length < 12 ? { dtick: 1 } : {}),
        tickformat: "d",
      },
      yaxis: {
        title: { text: [data.title, unit].filter(Boolean).join(", "), font: { size: 12 } },
        rangemode: "tozero",
        showgrid: true,
      },
    },
  });
}

startChart("history", (data: History, place) => {
  plot(place, chart(data));
  listen(place, "click", ({ customdata }) => {
    const run = customdata?.[4];
    if (run) location.assign(data.run_url.replace("RUN", run));
  });
  offer("history", place, () => [
    ["run", "name", "when", "torch", "device", `value_${data.unit}`],
    ...data.runs.map((run) => [
      run.id,
      run.name,
      run.created_at,
      run.torch_version,
      run.device,
      run.value,
    ]),
  ]);
});
