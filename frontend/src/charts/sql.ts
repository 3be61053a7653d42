// Entry of the SQL page: the query's editor; lines over numbers and times, or bars by name.
import { offer } from "./offer";
import { type Chart, type Colours, named, plot, startChart } from "./plot";
import { startQuery } from "./query";
import { type Result, rowNames } from "./row-names";

const MOST_LINES = 4;
const MOST_BARS = 20;
const COLOURS = ["pointwise", "warn", "reduction", "extern"];
const TALL = 12;
const TEXT = { size: 12 };

function lines({ columns, rows }: Result, shown: number[]) {
  return (colours: Colours): Chart => ({
    rows: TALL,
    traces: shown.map((at, number) => ({
      type: "scatter",
      mode: "lines+markers",
      name: columns[at],
      x: rows.map((row) => row[0]),
      y: rows.map((row) => row[at]),
      marker: { color: colours(COLOURS[number] ?? "ink") },
    })),
    layout: {
      showlegend: shown.length > 1,
      margin: { l: 8, r: 16, t: 8, b: 40 },
      xaxis: { title: { text: columns[0], font: TEXT } },
      yaxis: {
        title: { text: shown.length === 1 ? columns[shown[0] ?? 0] : "", font: TEXT },
        rangemode: "tozero",
        showgrid: true,
      },
    },
  });
}

/** Only the first column of numbers: others may have other units. */
function bars(result: Result, shown: number) {
  const { columns } = result;
  const first = result.rows.slice(0, MOST_BARS);
  return (colours: Colours, narrow: boolean): Chart => ({
    rows: first.length,
    traces: [
      {
        type: "bar",
        orientation: "h",
        x: first.map((row) => row[shown]),
        y: first.map((_, at) => at),
        marker: { color: colours("pointwise") },
        hovertext: rowNames({ ...result, rows: first }, Number.POSITIVE_INFINITY),
      },
    ],
    layout: {
      xaxis: { title: { text: columns[shown], font: TEXT } },
      yaxis: {
        autorange: "reversed",
        ...named(rowNames({ ...result, rows: first }, narrow ? 20 : 56)),
      },
    },
  });
}

startQuery();
startChart("sql", (data: Result, place) => {
  const section = place.closest<HTMLElement>("[data-sql]");
  const shown = data.numeric.filter((at) => at > 0);
  if (!section || shown[0] === undefined || data.rows.length < 2) return;
  section.hidden = false;
  const ordered = data.rows.every(
    ([first]) => typeof first === "number" || /^\d{4}-\d\d/.test(String(first)),
  );
  plot(place, ordered ? lines(data, shown.slice(0, MOST_LINES)) : bars(data, shown[0]));
  offer("sql", place, () => [data.columns, ...data.rows]);
});
