// Tables that sort in place: `<table data-sortable>`, with buttons in the headings, and
// `data-value` on cells whose text does not sort correctly.
import { button } from "../shared/elements";

function sortKey(row: HTMLTableRowElement, column: number): number | string {
  const cell = row.cells[column];
  const written = cell?.dataset.value ?? cell?.textContent?.trim() ?? "";
  if (written === "" || written === "—") return Number.NEGATIVE_INFINITY;
  const number = Number(written);
  return Number.isNaN(number) ? written.toLowerCase() : number;
}

function compare(one: number | string, other: number | string): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return String(one).localeCompare(String(other), "en", { numeric: true });
}

function sort(table: HTMLTableElement, head: HTMLTableCellElement): void {
  const column = head.cellIndex;
  const before = head.getAttribute("aria-sort");
  const numeric = head.classList.contains("num");
  const first = numeric ? "descending" : "ascending";
  const other = numeric ? "ascending" : "descending";
  const order = before === first ? other : first;
  for (const each of table.tHead?.rows[0]?.cells ?? []) each.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  for (const body of table.tBodies) {
    const rows = [...body.rows];
    rows.sort((a, b) => sign * compare(sortKey(a, column), sortKey(b, column)));
    body.append(...rows);
  }
}

/** Rows beyond the first few stay folded until requested; `<input data-only="id">` leaves those
 *  with `data-chosen`. */
function limit(table: HTMLTableElement): void {
  // On a phone, names take several lines.
  const [share, few] = window.innerWidth < 761 ? [2, 2] : [1, 5];
  const most = Math.ceil(Number(table.dataset.limit) / share);
  const body = table.tBodies[0];
  const only = document.querySelector<HTMLInputElement>(`[data-only="${table.id}"]`);
  if (!most || !body) return;
  let whole = false;
  const more = button("", {}, () => {
    whole = true;
    apply();
  });
  const apply = () => {
    const rows = [...body.rows];
    const chosen = only?.checked ? rows.filter((row) => "chosen" in row.dataset) : rows;
    const shown = new Set(whole || chosen.length <= most + few ? chosen : chosen.slice(0, most));
    for (const row of rows) row.hidden = !shown.has(row);
    more.textContent = `Show ${table.dataset.more ?? `all ${chosen.length}`} rows`;
    more.hidden = shown.size === chosen.length;
  };
  table.closest(".table-frame")?.after(more);
  table.addEventListener("sorted", apply);
  only?.addEventListener("change", apply);
  apply();
}

/** Shows with a shadow that a frame can be scrolled to further columns. */
function markOverflow(frame: HTMLElement): void {
  const mark = () => {
    const left = frame.scrollWidth - frame.clientWidth - frame.scrollLeft;
    frame.classList.toggle("goes-on", left > 1);
  };
  frame.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(frame);
}

export function startTables(): void {
  for (const frame of document.querySelectorAll<HTMLElement>(".table-frame")) markOverflow(frame);
  for (const table of document.querySelectorAll<HTMLTableElement>("table[data-limit]"))
    limit(table);
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const button = event.target.closest("table[data-sortable] th button");
    const head = button?.closest("th");
    const table = button?.closest("table");
    if (!head || !table) return;
    sort(table, head);
    table.dispatchEvent(new CustomEvent("sorted"));
  });
}
