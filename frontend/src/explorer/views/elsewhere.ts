// The cost of a source line in the other graphs of the run, with a link to the most expensive one.
import { make } from "../../shared/elements";
import { count, microseconds } from "../../shared/figures";
import type { LineTime } from "../code/heat";

function meaning(us: number, graphs: number): string {
  return (
    `The line's share, by bytes moved, of all kernels that it is part of: ${microseconds(us)} in ` +
    `${count(graphs, "graph")}. The time before it is the full time of these kernels in this graph.`
  );
}

/** Null for a line that is only in this graph. `select`: the line in an address. */
export function elsewhere(
  graphs: readonly HTMLAnchorElement[],
  here: string,
  { graphs: spent, shared_us }: LineTime,
  select: string,
): HTMLElement | null {
  const others = Object.entries(spent).filter(([slug]) => slug !== here);
  const [dearest] = others;
  if (!dearest) return null;
  const [slug, us] = dearest;
  const link = graphs.find(({ dataset }) => dataset.slug === slug);
  const said = `${microseconds(us)} in ${link?.textContent?.trim() ?? slug}`;
  const line = make("span", { class: "elsewhere", title: meaning(shared_us, others.length + 1) });
  line.append(`its own part: ${microseconds(spent[here] ?? 0)} here, `);
  line.append(link ? make("a", { href: `${link.pathname}?sel=${select}` }, said) : said);
  return line;
}
