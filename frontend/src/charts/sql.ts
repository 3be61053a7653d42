// Entry of the SQL page: the result as a chart, if its first column names rows and others have numbers.
import { offer } from "./offer";
import { type Colours, plot } from "./plot";

type Cell = string | number | boolean | null;

interface Result {
  columns: string[];
  rows: Cell[][];
}

const MOST_SERIES = 4;
const COLOURS = ["pointwise", "warn", "reduction", "extern"];
const ROWS = 12;

/** Columns after the first that have numbers and nothing else but gaps. */
export function series({ columns, rows }: Result): number[] {
  return columns
    .map((_, at) => at)
    .slice(1)
    .filter((at) => {
      const cells = rows.map((row) => row[at]).filter((cell) => cell !== null);
      return cells.length > 0 && cells.every((cell) => typeof cell === "number");
    })
    .slice(0, MOST_SERIES);
}

function start(): void {
  const carried = document.querySelector("#sql-data")?.textContent;
  const section = document.querySelector<HTMLElement>("[data-sql]");
  const place = document.querySelector<HTMLElement>("[data-sql-chart]");
  if (!carried || !section || !place) return;
  const data = JSON.parse(carried) as Result;
  const shown = series(data);
  if (!shown.length || data.rows.length < 2) return;
  section.hidden = false;
  const x = data.rows.map((row) => row[0]);
  const ordered = x.every((cell) => typeof cell === "number" || /^\d{4}-\d\d/.test(String(cell)));
  plot(place, (colours: Colours) => ({
    rows: ROWS,
    traces: shown.map((at, number) => ({
      type: ordered ? "scatter" : "bar",
      mode: "lines+markers",
      name: data.columns[at],
      x,
      y: data.rows.map((row) => row[at]),
      marker: { color: colours(COLOURS[number] ?? "ink") },
    })),
    layout: {
      showlegend: shown.length > 1,
      legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
      margin: { l: 8, r: 16, t: 8, b: 40 },
      xaxis: { title: { text: data.columns[0], font: { size: 12 } } },
      yaxis: {
        title: { text: shown.length === 1 ? data.columns[shown[0] ?? 0] : "", font: { size: 12 } },
        rangemode: "tozero",
        showgrid: true,
      },
    },
  }));
  offer("sql", place, () => [
    data.columns,
    ...data.rows.map((row) =>
      row.map((cell) => (typeof cell === "number" ? cell : String(cell ?? ""))),
    ),
  ]);
}

if (typeof document !== "undefined") start();
