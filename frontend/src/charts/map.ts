// The map of time: file → line → kernel, as areas or as an icicle. Each level sums to the one above.

import { microseconds, share } from "../shared/figures";
import { hueOf } from "../shared/naming";
import { type Drawn, plain } from "./bars";
import type { Tile, TimeData } from "./time-data";

export type Shape = "treemap" | "icicle";

const HEIGHT = 380;

function hueOfTile(tile: Tile): string {
  if (tile.category !== null) return hueOf(tile.category);
  return tile.parent === "" ? "sunk" : "line";
}

export function timeMap({ map }: TimeData, shape: Shape): Drawn {
  const whole = map.reduce((sum, tile) => sum + (tile.parent === "" ? tile.us : 0), 0);
  return (colours) => ({
    rows: 1,
    height: HEIGHT,
    traces: [
      {
        type: shape,
        ids: map.map((tile) => tile.id),
        parents: map.map((tile) => tile.parent),
        labels: map.map((tile) => plain(tile.label)),
        values: map.map((tile) => tile.us),
        branchvalues: "total",
        text: map.map((tile) => microseconds(tile.us)),
        customdata: map.map((tile) => share(tile.us / (whole || 1))),
        texttemplate: "%{label}<br>%{text}",
        hovertemplate: "%{label}<br>%{text} a step, %{customdata}<extra></extra>",
        marker: {
          colors: map.map((tile) => colours(hueOfTile(tile))),
          line: { color: colours("panel"), width: 1 },
          ...(shape === "treemap" ? { pad: { t: 22, l: 4, r: 4, b: 4 } } : {}),
        },
        tiling: shape === "treemap" ? { packing: "squarify", pad: 2 } : { orientation: "h" },
        maxdepth: 3,
        pathbar: { visible: true, thickness: 20 },
      },
    ],
    layout: { margin: { l: 0, r: 0, t: 4, b: 4 }, uniformtext: { minsize: 10, mode: "hide" } },
  });
}
