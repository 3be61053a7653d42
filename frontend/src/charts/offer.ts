// The buttons next to a chart that save it as SVG or PNG.
import Plotly from "plotly.js/lib/core";
import { button, make } from "../shared/elements";
import { save } from "./download";

/** Puts the buttons into the head of the chart. */
export function offer(name: string, plot: HTMLElement): void {
  const picture = (format: "svg" | "png") => async () => {
    const { clientWidth: width, clientHeight: height } = plot;
    save(`${name}.${format}`, await Plotly.toImage(plot, { format, width, height, scale: 2 }));
  };
  const buttons = [
    button("SVG", { title: "Save the chart as SVG" }, picture("svg")),
    button("PNG", { title: "Save the chart as PNG" }, picture("png")),
  ];
  const head = plot.closest(".chart")?.querySelector(".chart-head");
  head?.append(make("span", { class: "downloads", "data-downloads": name }, ...buttons));
}
