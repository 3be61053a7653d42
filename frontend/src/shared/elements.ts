// Small functions that make elements; text is only inserted as text.

type Attributes = Record<string, string | number | boolean | null | undefined>;
type Child = Node | string | null;

export function fill(element: Element, attributes: Attributes, children: Child[] = []): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
}

export function make<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  fill(element, attributes, children);
  return element;
}

export function drawing(name: string, attributes: Attributes, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  fill(element, attributes, children);
  return element;
}

/** A bar whose width is a share of the whole. The number is next to it as text. */
export function bar(part: number, hue: string): SVGElement {
  const rect = drawing("rect", { width: Math.max(0, Math.min(1, part)) * 100, height: 4 });
  return drawing(
    "svg",
    {
      class: `bar hue-${hue}`,
      viewBox: "0 0 100 4",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    },
    rect,
  );
}

/** A dialog with a heading and a button that closes it. */
export function dialogOf(id: string, heading: string, ...body: Node[]): HTMLDialogElement {
  return make(
    "dialog",
    { id, "aria-labelledby": `${id}-title` },
    make("h2", { id: `${id}-title` }, heading),
    ...body,
    make("form", { method: "dialog" }, make("button", { class: "button" }, "Close")),
  );
}

const TAIL = 9;

/** A long name, shortened in the middle; the tooltip and copies contain all of it. */
export function cutName(name: string): HTMLElement {
  if (name.length <= TAIL + 6) return make("span", { class: "cut", title: name }, name);
  return make(
    "span",
    { class: "cut", title: name },
    make("span", { class: "cut-head" }, name.slice(0, -TAIL)),
    make("span", { class: "cut-tail" }, name.slice(-TAIL)),
  );
}

export function button(label: string | Child[], attributes: Attributes, pressed: () => void) {
  const parts = typeof label === "string" ? [label] : label;
  const element = make("button", { type: "button", class: "button", ...attributes }, ...parts);
  element.addEventListener("click", pressed);
  return element;
}

export function icon(sign: string, title: string, pressed: () => void) {
  return button(sign, { class: "icon", title, "aria-label": title }, pressed);
}

/** Scroll a box until an item in it is seen; unlike `scrollIntoView`, never the page. */
export function scrollWithin(box: Element, item: Element): void {
  const outer = box.getBoundingClientRect();
  const inner = item.getBoundingClientRect();
  const beyond = (before: number, after: number) => Math.min(0, before) || Math.max(0, after);
  box.scrollTop += beyond(inner.top - outer.top, inner.bottom - outer.bottom);
  box.scrollLeft += beyond(inner.left - outer.left, inner.right - outer.right);
}
