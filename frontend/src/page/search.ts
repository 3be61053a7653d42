// Ctrl K (or ⌘ K, or /) goes to the search box from anywhere.

export function startSearch(): void {
  const box = document.querySelector<HTMLInputElement>("#search");
  if (!box) return;
  document.addEventListener("keydown", (event) => {
    const asked = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k";
    const typing =
      event.target instanceof Element && event.target.closest("input, textarea, select");
    const slash = event.key === "/" && !typing && !event.ctrlKey && !event.metaKey;
    if (!asked && !slash) return;
    event.preventDefault();
    box.focus();
    box.select();
  });
}
