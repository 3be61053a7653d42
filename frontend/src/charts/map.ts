// The map of time: file → line → kernel, as areas. Each level sums to the one above.

import { microseconds, share } from "../shared/figures";
import { hueOf } from "../shared/naming";
import { type Drawn, plain } from "./bars";
import type { TimeData } from "./time-data";

const HEIGHT = { wide: 380, narrow: 240 };
/** Space between a tile's edges and its label, on both sides together, in pixels. */
const EDGES = 10;
/** A cut label with fewer characters says nothing. */
const LEAST = 3;
/** A tile smaller than the whole map divided by this has no room for such a label. */
const MOST_TEXTS = 1000;

/** A kernel's name without the beginning that many share. */
function short(name: string): string {
  return name.replace(
    /^(?:(?:triton_[a-z]{3}|cpp)_fused_+(?=\w)|extern_kernels\.|torch\.ops\.aten\._?)|\.default$/g,
    "",
  );
}

/** `level`: the tile that fills the map; empty for the whole map. */
export function timeMap({ map }: TimeData, level: string): Drawn {
  const whole = map.reduce((sum, tile) => sum + (tile.parent === "" ? tile.us : 0), 0);
  const shown = map.find(({ id }) => id === level)?.us ?? whole;
  return (colours, narrow) => ({
    rows: 1,
    height: narrow ? HEIGHT.narrow : HEIGHT.wide,
    traces: [
      {
        type: "treemap",
        ids: map.map((tile) => tile.id),
        parents: map.map((tile) => tile.parent),
        labels: map.map((tile) => plain(short(tile.label))),
        hovertext: map.map((tile) => plain(tile.label)),
        values: map.map((tile) => tile.us),
        level,
        branchvalues: "total",
        text: map.map((tile) => microseconds(tile.us)),
        customdata: map.map((tile) => share(tile.us / (whole || 1))),
        textfont: {
          color: map.map((tile) => colours(tile.category === null ? "ink" : "panel")),
        },
        // Plotly measures each text, which costs more than all the rest.
        texttemplate: map.map(({ us }) => (us > shown / MOST_TEXTS ? "%{label}<br>%{text}" : "")),
        hovertemplate: "%{hovertext}<br>%{text} a step, %{customdata}<extra></extra>",
        marker: {
          colors: map.map(({ category, parent }) =>
            colours(category === null ? (parent ? "line" : "sunk") : hueOf(category)),
          ),
          line: { color: colours("panel"), width: 1 },
          pad: { t: 22, l: 4, r: 4, b: 4 },
        },
        tiling: { packing: "squarify", pad: 2 },
        maxdepth: 3,
        pathbar: { visible: level !== "", thickness: 20 },
      },
    ],
    layout: { margin: { l: 0, r: 0, t: 4, b: 4 }, uniformtext: { minsize: 11, mode: "show" } },
  });
}

/** Cut labels to the size of their tiles: Plotly draws them over others, or drops them. */
export function cutLabels(place: HTMLElement): void {
  const cuts: [SVGElement, string][] = [];
  for (const slice of place.querySelectorAll<SVGGElement>("g.slice")) {
    const room = slice.querySelector("path.surface")?.getBoundingClientRect();
    const text = slice.querySelector<SVGTextElement>("text.slicetext");
    if (!room || !text?.textContent?.trim()) continue;
    const lines = [...text.querySelectorAll<SVGTSpanElement>("tspan.line")];
    let height = 0;
    for (const [at, line] of (lines.length ? lines : [text]).entries()) {
      const box = line.getBoundingClientRect();
      height += box.height;
      const words = line.textContent ?? "";
      const keep = Math.floor((words.length * (room.width - EDGES)) / (box.width || 1)) - 1;
      if (keep >= words.length - 1 && height <= room.height) continue;
      // A number must not be cut: the rest would be a different number.
      const isCut = at === 0 && keep >= LEAST && height <= room.height;
      cuts.push([line, isCut ? `${words.slice(0, keep)}…` : ""]);
    }
  }
  for (const [line, words] of cuts) line.textContent = words; // at the end: lays out once
}
