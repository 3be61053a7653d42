// Phases over time as an icicle: nested phases are drawn below. Click a phase to see it alone;
// arrow keys move, Enter zooms in, Escape zooms out.

import { button, drawing, make } from "../shared/elements";
import { microseconds, share } from "../shared/figures";
import { workHue } from "../shared/naming";
import { laneRows, neighbour, type Span, type Window, whole } from "./spans";

const ROW = 20;
const LETTER = 6.4;
const LEAST = 0.4;

class Icicle {
  private readonly all: Window;
  private readonly rows: number[];
  private readonly picture: SVGElement;
  private readonly said = make("p", {
    class: "icicle-said soft",
    id: "icicle-said",
    role: "status",
  });
  private readonly back = button("Show all", { hidden: true }, () => this.show(this.all));
  private readonly compilePage: string | undefined;
  private window: Window;
  private at = -1;
  private words = "";

  constructor(
    root: HTMLElement,
    private readonly spans: Span[],
  ) {
    this.all = whole(spans);
    this.window = this.all;
    this.compilePage = root.dataset.compile;
    const { rows, count } = laneRows(spans);
    this.rows = rows;
    this.picture = drawing("svg", {
      class: "icicle-picture",
      height: count * ROW,
      tabindex: 0,
      role: "application",
      "aria-label":
        "Phases over time. Arrow keys move, Enter shows a phase alone, Escape shows all.",
      "aria-describedby": "icicle-said",
    });
    const find = make("input", {
      type: "search",
      placeholder: "Phase, kernel, compile id",
      "aria-label": "Find phases",
    });
    find.addEventListener("input", () => {
      this.words = find.value.trim().toLowerCase();
      this.draw();
    });
    root.append(make("p", { class: "narrow-by" }, find, this.back), this.picture, this.said);
    this.picture.addEventListener("pointermove", (event) => this.pointed(event));
    this.picture.addEventListener("click", (event) => {
      const number = this.under(event);
      if (number !== null) this.enter(number);
    });
    this.picture.addEventListener("keydown", (event) => this.pressed(event));
    new ResizeObserver(() => this.draw()).observe(root);
    this.tell();
  }

  private under(event: Event): number | null {
    const shape = event.target instanceof Element ? event.target.closest("[data-span]") : null;
    return shape instanceof SVGElement ? Number(shape.dataset.span) : null;
  }

  private pointed(event: PointerEvent): void {
    const number = this.under(event);
    if (number === null || number === this.at) return;
    this.at = number;
    this.mark();
    this.tell();
  }

  private pressed(event: KeyboardEvent): void {
    if (event.key === "Escape") this.show(this.all);
    else if (event.key === "Enter" && this.at >= 0) this.enter(this.at);
    else if (event.key.startsWith("Arrow")) {
      const next = neighbour(this.spans, this.at, event.key);
      if (next === null) return;
      this.at = next;
      this.mark();
      this.tell();
    } else return;
    event.preventDefault();
  }

  private enter(number: number): void {
    const span = this.spans[number];
    if (!span) return;
    this.at = number;
    this.show({ from: span.x_us, to: span.x_us + Math.max(span.duration_us, 1) });
  }

  private show(window: Window): void {
    this.window = window;
    this.back.hidden = window === this.all;
    this.draw();
    this.tell();
  }

  private draw(): void {
    const width = this.said.clientWidth; // that of the frame, without its padding
    if (width <= 0) return;
    this.picture.setAttribute("width", String(width));
    const scale = width / (this.window.to - this.window.from);
    const shapes: SVGElement[] = [];
    for (const [number, span] of this.spans.entries()) {
      const left = (span.x_us - this.window.from) * scale;
      const right = left + span.duration_us * scale;
      if (right < 0 || left > width || right - left < LEAST) continue;
      shapes.push(this.shape(number, span, Math.max(left, 0), Math.min(right, width)));
    }
    this.picture.replaceChildren(...shapes);
    this.mark();
  }

  private shape(number: number, span: Span, left: number, right: number): SVGElement {
    const y = ((this.rows[span.lane] ?? 0) + span.depth) * ROW;
    const wide = Math.max(right - left - 1, 0.6);
    const dim = !`${span.name} ${span.label} ${span.id}`.toLowerCase().includes(this.words);
    const group = drawing("g", { "data-span": number, class: dim ? "dim" : null });
    group.append(
      drawing("rect", {
        class: `hue-${workHue(span.kind)}`,
        x: left,
        y,
        width: wide,
        height: ROW - 2,
        rx: 2,
      }),
    );
    const room = Math.floor((wide - 8) / LETTER);
    if (room >= 3) {
      const name = span.label ? `${span.name} ${span.label}` : span.name;
      const text = name.length <= room ? name : `${name.slice(0, room - 1)}…`;
      group.append(drawing("text", { x: left + 4, y: y + 13 }, text));
    }
    return group;
  }

  private mark(): void {
    for (const shape of this.picture.querySelectorAll(".here")) shape.classList.remove("here");
    this.picture.querySelector(`[data-span="${this.at}"]`)?.classList.add("here");
  }

  private tell(): void {
    const span = this.spans[this.at];
    if (!span) {
      this.said.textContent =
        "Point at a phase to read it; click it to see it alone. Long pauses are drawn short.";
      return;
    }
    const all = this.spans.reduce(
      (sum, each) => sum + (each.depth === 0 ? each.duration_us : 0),
      0,
    );
    const parts: (string | Node)[] = [
      make("strong", {}, span.name),
      ` ${microseconds(span.duration_us)}, ${microseconds(span.self_us)} of it itself, ${share(span.duration_us / Math.max(all, 1))} of all`,
    ];
    if (span.label) parts.push(", ", make("code", {}, span.label));
    if (this.compilePage && span.compile >= 0)
      parts.push(
        " · ",
        make("a", { href: `${this.compilePage}/${span.compile}` }, `compile ${span.id}`),
      );
    this.said.replaceChildren(...parts);
  }
}

export function startIcicles(): void {
  for (const root of document.querySelectorAll<HTMLElement>("[data-icicle]")) {
    const data = document.getElementById(root.dataset.icicle ?? "")?.textContent;
    if (!data) continue;
    const spans = JSON.parse(data) as Span[];
    if (spans.length) new Icicle(root, spans);
  }
}
