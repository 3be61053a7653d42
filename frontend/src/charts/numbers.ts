// Entry of the page of wrong numbers: the error of each node along the graph.
import type { NumbersPoint as Point } from "../shared/api";
import { plain } from "./bars";
import { offer } from "./offer";
import { type Chart, type Colours, listen, plot, startChart } from "./plot";

interface Numbers {
  points: Point[];
  /** The explorer at a node, with `NODE` in place of its name; empty if there is none. */
  node_url: string;
}

/** Exact values and values without a number do not fit on a logarithmic axis: they are drawn at its
 * edges. */
const LEAST = 1e-3;
const MOST = 1e9;
const TALL = 10;

/** The position of a point: its error in multiples of the allowed error. */
function height(point: { excess: number | null }): number {
  return point.excess === null ? MOST : Math.min(MOST, Math.max(LEAST, point.excess));
}

function figure(value: number | null): string {
  return value === null ? "unknown" : value.toPrecision(3);
}

function chart(points: Point[]) {
  const last = Math.max(1, ...points.map((point) => point.at));
  const highest = Math.max(10, ...points.map(height));
  return (colours: Colours): Chart => {
    const dots = (differs: boolean) => {
      const drawn = points.filter((point) => (point.status === "differs") === differs);
      return {
        type: "scatter",
        mode: "markers",
        name: differs ? "differs" : "agrees",
        x: drawn.map((point) => point.at),
        y: drawn.map(height),
        customdata: drawn.map((point) => [
          plain(point.node),
          figure(point.max_abs),
          figure(point.allowed),
          plain(point.kernel || "no kernel"),
        ]),
        marker: {
          color: colours(differs ? "bad" : "pointwise"),
          size: differs ? 10 : 7,
          symbol: drawn.map((point) =>
            differs ? "x" : point.how === "stored" ? "circle-open" : "circle",
          ),
        },
        hovertemplate:
          "%{customdata[0]}<br>max abs error %{customdata[1]}, allowed %{customdata[2]}<br>%{customdata[3]}<extra></extra>",
      };
    };
    return {
      rows: TALL,
      traces: [
        {
          type: "scatter",
          mode: "lines+text",
          x: [-0.5, last + 0.5],
          y: [1, 1],
          text: ["", "allowed"],
          textposition: "top left",
          line: { color: colours("warn"), width: 1.5, dash: "dash" },
          hoverinfo: "skip",
        },
        dots(false),
        dots(true),
      ],
      layout: {
        margin: { l: 8, r: 16, t: 8, b: 40 },
        xaxis: {
          title: { text: "node, in the graph's order", font: { size: 12 } },
          range: [-0.5, last + 0.5],
          // Nodes are counted, so there are no ticks between two of them.
          ...(last < 12 ? { dtick: 1 } : {}),
          tickformat: "d",
        },
        yaxis: {
          type: "log",
          title: { text: "× allowed", font: { size: 12 } },
          range: [Math.log10(LEAST) - 0.2, Math.log10(highest) + 0.5],
          tickformat: "~g",
          showgrid: true,
        },
      },
    };
  };
}

startChart("numbers", ({ points, node_url }: Numbers, place) => {
  plot(place, chart(points));
  listen(place, "click", ({ data, pointNumber }) => {
    const name = data?.name;
    const among = points.filter((point) => (point.status === "differs") === (name === "differs"));
    const point = among[pointNumber ?? -1];
    if (point && name && node_url)
      location.assign(node_url.replace("NODE", encodeURIComponent(point.node)));
  });
  offer("errors", place, () => [
    ["place", "node", "kernel", "verdict", "error / allowed", "max abs", "allowed"],
    ...points.map((point) => [
      point.at,
      point.node,
      point.kernel,
      point.status,
      point.excess,
      point.max_abs,
      point.allowed,
    ]),
  ]);
});
