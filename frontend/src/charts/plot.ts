// The one door to Plotly: its defaults here send nothing anywhere and follow the page's theme.
import bar from "plotly.js/lib/bar";
import Plotly from "plotly.js/lib/core";
import { colourOf } from "../theme";
import { CONFIG } from "./config";

Plotly.register([bar]);

export interface Chart {
  traces: object[];
  layout: Record<string, unknown>;
}

export type Colours = (token: string) => string;

function themed(layout: Record<string, unknown>): Record<string, unknown> {
  const axis = {
    gridcolor: colourOf("line"),
    linecolor: colourOf("line"),
    zerolinecolor: colourOf("line"),
    automargin: true,
    fixedrange: true,
  };
  return {
    margin: { l: 8, r: 56, t: 8, b: 32 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colourOf("ink") },
    hoverlabel: { bgcolor: colourOf("panel"), font: { color: colourOf("ink") } },
    showlegend: false,
    bargap: 0.35,
    ...layout,
    xaxis: { ...axis, ...(layout.xaxis as object | undefined) },
    yaxis: { ...axis, ...(layout.yaxis as object | undefined) },
  };
}

/** Draw, and draw again in the other colours when the theme changes. */
export function plot(into: HTMLElement, chart: (colours: Colours) => Chart): void {
  const draw = () => {
    const { traces, layout } = chart(colourOf);
    void Plotly.react(into, traces, themed(layout), CONFIG);
  };
  draw();
  document.addEventListener("themechange", draw);
}
