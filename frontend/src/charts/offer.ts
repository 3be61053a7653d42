// The buttons next to a chart that save it as SVG, PNG or CSV.
import Plotly from "plotly.js/lib/core";
import { button, make } from "../shared/elements";
import { csv, type Rows, save } from "./download";

/** Puts the buttons into the head of the chart. */
export function offer(name: string, plot: HTMLElement, rows: () => Rows): void {
  const picture = (format: "svg" | "png") => async () => {
    const { clientWidth: width, clientHeight: height } = plot;
    save(`${name}.${format}`, await Plotly.toImage(plot, { format, width, height, scale: 2 }));
  };
  const buttons = [
    button("SVG", { title: "Save the chart as SVG" }, picture("svg")),
    button("PNG", { title: "Save the chart as PNG" }, picture("png")),
    button("CSV", { title: "Save the chart's figures as CSV" }, () =>
      save(`${name}.csv`, csv(rows())),
    ),
  ];
  const head = plot.closest(".chart")?.querySelector(".chart-head");
  head?.append(make("span", { class: "downloads", "data-downloads": name }, ...buttons));
}
