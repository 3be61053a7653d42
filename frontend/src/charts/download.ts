// Saves charts as pictures and tables as CSV, in the browser, from what the page shows.
import { button } from "../shared/elements";

/** Offer a file with this content to download. */
export function save(name: string, content: Blob | string): void {
  const link = document.createElement("a");
  const address = typeof content === "string" ? content : URL.createObjectURL(content);
  link.href = address;
  link.download = name;
  link.click();
  if (typeof content !== "string") setTimeout(() => URL.revokeObjectURL(address), 1000);
}

export type Rows = readonly (readonly (string | number | boolean | null)[])[];

export function csv(rows: Rows): Blob {
  const quoted = (cell: string) => (/[",\n]/.test(cell) ? `"${cell.replace(/"/g, '""')}"` : cell);
  const text = rows.map((row) => row.map((cell) => quoted(`${cell ?? ""}`)).join(",")).join("\n");
  return new Blob([`${text}\n`], { type: "text/csv" });
}

/** The visible rows of a table, with full-precision numbers if the cell holds them. */
export function rowsOf(table: HTMLTableElement): string[][] {
  return [...table.rows].map((row) =>
    [...row.cells].map((cell) => {
      const whole = cell.dataset.value ?? cell.querySelector("[data-full]")?.getAttribute("title");
      return (whole ?? cell.textContent ?? "").trim().replace(/\s+/g, " ");
    }),
  );
}

/** `<span data-table-download="id" data-name="file">` gets a button that saves that table. */
export function startTableDownloads(): void {
  for (const place of document.querySelectorAll<HTMLElement>("[data-table-download]")) {
    const table = document.getElementById(place.dataset.tableDownload ?? "");
    if (!(table instanceof HTMLTableElement)) continue;
    const name = `${place.dataset.name ?? "table"}.csv`;
    place.append(
      button("CSV", { title: "Save the rows shown as CSV" }, () => save(name, csv(rowsOf(table)))),
    );
  }
}
