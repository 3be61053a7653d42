// The buttons next to a chart that save it as SVG, PNG or CSV.
import Plotly from "plotly.js/lib/core";
import { button } from "../shared/elements";
import { csv, type Rows, save } from "./download";

/** `<span data-downloads="name">` gets the buttons of the chart with that name. */
export function offer(name: string, plot: HTMLElement, rows: () => Rows): void {
  const place = document.querySelector<HTMLElement>(`[data-downloads="${name}"]`);
  if (!place) return;
  const picture = (format: "svg" | "png") => async () => {
    const { clientWidth: width, clientHeight: height } = plot;
    save(`${name}.${format}`, await Plotly.toImage(plot, { format, width, height, scale: 2 }));
  };
  place.append(
    button("SVG", { title: "Save the chart as SVG" }, picture("svg")),
    button("PNG", { title: "Save the chart as PNG" }, picture("png")),
    button("CSV", { title: "Save the chart's figures as CSV" }, () =>
      save(`${name}.csv`, csv(rows())),
    ),
  );
}
