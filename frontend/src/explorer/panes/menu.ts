// A button in a pane's head and its menu, which is filled each time it opens.
import { make } from "../../shared/elements";

export interface MenuWords {
  sign: string;
  title: string;
}

export function menuOf(
  id: string,
  { sign, title }: MenuWords,
  entries: () => (HTMLElement | null)[],
): [HTMLButtonElement, HTMLElement] {
  const menu = make("div", { class: "menu", id, popover: "auto", "aria-label": title });
  const open = make(
    "button",
    { type: "button", class: "icon", popovertarget: id, title, "aria-label": title },
    sign,
  );
  menu.addEventListener("beforetoggle", (event) => {
    if (event.newState === "open")
      menu.replaceChildren(...entries().filter((entry) => entry !== null));
  });
  menu.addEventListener("toggle", (event) => {
    if (event.newState === "open") menu.querySelector<HTMLElement>(".menu-entry")?.focus();
  });
  return [open, menu];
}
