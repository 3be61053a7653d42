// Switches the theme: system, light, dark. Pages are rendered with the chosen one.
import { choose } from "./choices";

const TURNS = ["system", "light", "dark"] as const;
type Theme = (typeof TURNS)[number];

function shown(): Theme {
  const set = document.documentElement.dataset.theme;
  return set === "light" || set === "dark" ? set : "system";
}

export function startTheme(): void {
  const button = document.querySelector<HTMLButtonElement>("#theme");
  if (!button) return;
  const label = () => {
    const words = `Theme: ${shown()}. Press for the next.`;
    button.title = words;
    button.setAttribute("aria-label", words);
  };
  label();
  button.addEventListener("click", () => {
    const theme = TURNS[(TURNS.indexOf(shown()) + 1) % TURNS.length] ?? "system";
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    choose("theme", theme);
    document.dispatchEvent(new CustomEvent("themechange"));
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.dispatchEvent(new CustomEvent("themechange"));
  });
}

/** A colour token as a plain colour, for canvases and charts that do not support `light-dark()`. */
export function colourOf(token: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(--${token})`;
  document.body.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
