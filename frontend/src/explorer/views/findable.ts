// Kernels, FX nodes, buffers and source files of the open graph, for the search box.
import { offerHits } from "../../page/palette";
import { cutName } from "../../shared/elements";
import { microseconds } from "../../shared/figures";
import type { GraphPicture, Kernel } from "../shapes";
import type { Target } from "../state/address";
import type { LinkIndex } from "../state/links";
import { search } from "../state/search";

export interface Searched {
  readonly picture: GraphPicture;
  readonly index: LinkIndex;
  readonly row: { readonly active: { focus(): void } | null };
  readonly settled: Promise<unknown>;
  readonly ended: AbortSignal;
  chooseKernel(kernel: Kernel): void;
  select(target: Target): void;
}

export function findable(explorer: Searched): void {
  offerHits(
    {
      where: "this graph",
      find: (words) =>
        search(words, explorer.picture, explorer.index).map(({ kind, name, note, ...found }) => ({
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
