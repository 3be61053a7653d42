// Lines of a file: the marked one is scrolled to, and Shift-click on a number marks a range.

export function startLines(): void {
  const listing = document.querySelector<HTMLElement>("[data-lines]");
  if (!listing?.dataset.lines) return;
  const { lines: address, line } = listing.dataset;
  const marked = document.getElementById(`L${line}`);
  if (marked) {
    listing.scrollTop = marked.offsetTop - listing.offsetTop - listing.clientHeight / 3;
  }
  listing.addEventListener("click", (event) => {
    const number =
      event.target instanceof Element ? event.target.closest<HTMLElement>("a.number") : null;
    if (!number || !event.shiftKey || !line) return;
    event.preventDefault();
    const [from, to] = [Number(line), Number(number.textContent)];
    location.assign(`${address}?line=${Math.min(from, to)}&last=${Math.max(from, to)}`);
  });
}
