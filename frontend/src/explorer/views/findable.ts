// Kernels, FX nodes, buffers and source files of the open graph, for the search box.
import { offerHits } from "../../page/palette";
import { cutName } from "../../shared/elements";
import { microseconds } from "../../shared/figures";
import { search } from "../state/search";
import type { ViewHost } from "./host";

export function findable(explorer: ViewHost): void {
  const { picture, index } = explorer.state;
  offerHits(
    {
      where: "this graph",
      find: (words) =>
        search(words, picture, index).map(({ kind, name, note, ...found }) => ({
          kind,
          name: cutName(name),
          note: found.kernel?.time_us ? microseconds(found.kernel.time_us) : note,
          take: () => {
            if (found.kernel) explorer.chooseKernel(found.kernel);
            else explorer.select(found.target);
          },
        })),
      // Commands work on the pane with the focus.
      leave: () => explorer.row.active?.focus(),
      settled: () => explorer.settled,
    },
    explorer.ended,
  );
}
