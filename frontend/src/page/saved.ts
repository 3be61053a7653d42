// Filters of the list of runs that a reader saved under a name, in this browser.
import { button, make } from "../shared/elements";

const KEY = "inductorscope-runs";

function kept(): Record<string, unknown> {
  try {
    return Object(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return {};
  }
}

function keep(saved: Record<string, unknown>): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(saved));
  } catch {
    // Without storage, a filter is only its address.
  }
  draw();
}

/** What the address says of the list, without the place in it. */
function shown(): string {
  const query = new URLSearchParams(location.search);
  query.delete("cursor");
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  return `${query}`;
}

function draw(): void {
  const now = shown();
  const links = Object.entries(kept()).map(([name, query]) => {
    const here = query === now;
    const href = `${location.pathname}?${query}`;
    return make(
      "span",
      { class: "nowrap" },
      make(
        "a",
        { class: `button${here ? " main" : ""}`, href, "aria-current": here && "true" },
        name,
      ),
      button("×", { class: "icon", "aria-label": `Remove ${name}`, title: "Remove" }, () => {
        const { [name]: _, ...rest } = kept();
        keep(rest);
      }),
    );
  });
  document.querySelector("#saved")?.replaceChildren(...links);
}

export function startSaved(): void {
  const form = document.querySelector<HTMLFormElement>("#save-filter");
  if (!form) return;
  draw();
  document.addEventListener("htmx:after:swap", draw); // sorting changes the address
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    keep({ ...kept(), [`${new FormData(form).get("name")}`]: shown() });
    form.hidePopover();
    form.reset();
  });
}
