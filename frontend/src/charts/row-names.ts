// Names for the rows of a query. Pure.

type Cell = string | number | boolean | null;

export interface Result {
  columns: string[];
  rows: Cell[][];
  /** Positions of the numeric columns. */
  numeric: number[];
}

function shortened(name: string, most: number): string {
  return name.length > most ? `${name.slice(0, Math.floor(most) - 9)}…${name.slice(-8)}` : name;
}

/** Names rows by the first column and the columns of words that tell them apart, from the left; the same names, cut or
 *  whole, get the number of their row. */
export function rowNames({ columns, rows, numeric }: Result, most: number): string[] {
  const words = columns.flatMap((name, at) => {
    // Of a run's id, the beginning, as on other pages.
    const cells = rows.map((row) => String(row[at]).slice(0, name === "run" ? 6 : undefined));
    const measured = at > 0 && numeric.includes(at);
    return measured || new Set(cells).size === 1 ? [] : [cells];
  });
  let names = rows.map(() => [] as string[]);
  for (const cells of words) {
    if (new Set(names.map((parts) => parts.join("\n"))).size === rows.length) break;
    names = names.map((parts, at) => [...parts, cells[at] ?? ""]);
  }
  const cut = names.map((parts) =>
    parts.map((part) => shortened(part, Math.max(10, most / parts.length))).join(" · "),
  );
  return cut.map((name, at) =>
    cut.indexOf(name) === cut.lastIndexOf(name) ? name : `${name} ${at + 1}`.trim(),
  );
}
