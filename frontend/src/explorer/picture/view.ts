// A pane that shows the graph as a picture: the whole graph, or the neighbourhood of the selection.
import { button, fill, icon, make } from "../../shared/elements";
import { thousands } from "../../shared/figures";
import type { Target } from "../state/address";
import type { LinkIndex, Selected } from "../state/links";
import { Canvas, type Spot } from "./canvas";
import { factsOf, wholeOf } from "./facts";
import { around, type Graph, pathBetween } from "./graph";
import { neighbourhood } from "./layout";
import { litNodes, targetOf, targetOfGroup } from "./lit";
import { overview } from "./overview";
import { startPointer } from "./pointer";
import type { Scene } from "./scene";

/** Most nodes of a neighbourhood: more would be slow to lay out and hard to read. */
const MOST = 300;
/** Most nodes of the selection that a neighbourhood starts from. */
const SEEDS = 40;
const HOPS = ["Whole graph", "1 step", "2 steps", "3 steps"];
const KEYS =
  "Arrow up goes to its inputs, down to its users, left and right to its neighbours; " +
  "Enter selects, Shift-Enter shows the path from the selected node; plus, minus and 0 zoom; 1, 2 and 3 show that many steps around, w the whole graph.";

export interface PictureHost {
  readonly index: LinkIndex;
  readonly pictures: { graphOf(stage: string): Promise<Graph> };
  previewed(selected: Selected | null): void;
  select(target: Target): void;
  push(): void;
}

export class PictureView {
  readonly root = make("div", { class: "picture" });
  private readonly canvas = new Canvas(() => this.resized());
  private readonly facts = make("div", { class: "picture-facts", "aria-live": "polite" });
  private readonly words = make("p", { class: "picture-words boxed soft", role: "status" });
  private readonly steps = make("div", {
    class: "segments",
    role: "group",
    "aria-label": "How much of the graph",
  });
  private readonly box = make("input", {
    type: "search",
    placeholder: "Find a node (f)",
    "aria-label": "Find a node by name or operation",
  });
  private graph: Graph | null = null;
  private whole: Scene | null = null;
  private scene: Scene | null = null;
  private selected: Selected | null = null;
  private lit: ReadonlySet<number> = new Set();
  private hovered: ReadonlySet<number> = new Set();
  private found: number[] = [];
  private current: number | null = null;
  /** Whether the reader has moved the picture, so that it is not fitted again. */
  private moved = false;
  private shownAround = "";
  private aboutDrawing = "";
  private aboutSearch = "";

  /** `address`: the steps around the selection to show, as in the page's address. */
  constructor(
    parent: HTMLElement,
    private readonly stage: string,
    private readonly address: { hops: number },
    private readonly host: PictureHost,
  ) {
    this.build();
    parent.replaceChildren(this.root);
  }

  private build(): void {
    HOPS.forEach((label, hops) => {
      this.steps.append(button(label, { class: "segment" }, () => this.turn(hops)));
    });
    const zoom = make(
      "span",
      { class: "zooms" },
      icon("−", "Smaller (−)", () => this.zoom(1 / 1.4)),
      icon("⤢", "Fit everything (0)", () => this.fit()),
      icon("+", "Larger (+)", () => this.zoom(1.4)),
    );
    const { element } = this.canvas;
    fill(element, {
      tabindex: "0",
      role: "application",
      "aria-roledescription": "picture of a graph",
      "data-own-keys": "ArrowUp ArrowDown ArrowLeft ArrowRight Enter Space + = - 0 1 2 3 w",
      title: "",
    });
    element.addEventListener("keydown", (event) => this.pressed(event));
    element.addEventListener("focus", () => this.reachSomething());
    element.addEventListener("blur", () => this.reach(null));
    startPointer(this.canvas, {
      moved: () => {
        this.moved = true;
      },
      hovered: (spot) => this.point(spot),
      clicked: (spot, extend) => this.click(spot, extend),
    });
    this.box.addEventListener("input", () => this.search());
    this.box.addEventListener("keydown", (event) => this.searched(event));
    const bar = make("div", { class: "picture-bar in-row" }, this.steps, this.box, zoom);
    const frame = make("div", { class: "picture-frame" }, element, this.words);
    this.root.append(bar, frame, this.facts);
    this.showSteps();
  }

  /** Fetch and draw; throws the message that the pane should show. */
  async load(): Promise<void> {
    this.graph = await this.host.pictures.graphOf(this.stage);
    this.canvas.element.setAttribute("aria-label", `${wholeOf(this.graph)} ${KEYS}`);
    this.relight();
    this.search();
    this.redraw();
  }

  /** Show a selection, and a preview with it. */
  light(selected: Selected | null, hovered: Selected | null): void {
    const { graph } = this;
    const other = selected !== this.selected;
    this.selected = selected;
    if (!graph) return;
    this.hovered = litNodes(graph, this.host.index, hovered);
    if (other) {
      this.relight();
      if (this.address.hops > 0) this.redraw();
      else this.follow(this.lit);
    }
    this.paint();
  }

  private relight(): void {
    if (!this.graph) return;
    this.lit = litNodes(this.graph, this.host.index, this.selected);
    this.say();
  }

  private paint(): void {
    const { lit: selected, hovered, current } = this;
    this.canvas.light({ selected, hovered, found: new Set(this.found), current });
  }

  /** Draw the whole graph, or the neighbourhood of the selection. */
  private redraw(): void {
    if (this.address.hops > 0 && this.lit.size) this.drawAround();
    else this.drawWhole();
  }

  private drawWhole(): void {
    const { graph, canvas } = this;
    if (!graph) return;
    const { width, height } = canvas.size;
    this.whole ??= overview(graph, Math.max(0.2, width / Math.max(1, height)));
    this.shownAround = "";
    this.show(this.whole);
    this.tell(
      this.address.hops > 0
        ? "Select a node, a line or a kernel: what is around it is drawn here."
        : "",
    );
  }

  private drawAround(): void {
    const { graph } = this;
    if (!graph) return;
    const seeds = [...this.lit].sort((one, other) => one - other);
    const near = around(graph, seeds.slice(0, SEEDS), this.address.hops, MOST);
    const asked = near.nodes.join();
    if (asked === this.shownAround) return;
    this.shownAround = asked;
    this.moved = false;
    this.show(neighbourhood(graph, near.nodes));
    const left: string[] = [];
    if (seeds.length > SEEDS) left.push(`around the first ${SEEDS} of ${seeds.length} selected`);
    if (near.more) left.push(`${near.more} more neighbours are left out`);
    this.tell(left.length ? `${near.nodes.length} nodes, ${left.join(", ")}.` : "");
  }

  /** Draw only the path from the selected node to another one. */
  private drawPath(to: number): void {
    const { graph } = this;
    const [from] = this.lit;
    if (!graph || from === undefined) {
      this.tell("Select a node first; then Shift and a click show the path to another.");
      return;
    }
    const named = (at: number) => graph.nodes[at]?.name ?? "";
    const path = pathBetween(graph, from, to);
    if (!path) {
      this.tell(`Neither of ${named(from)} and ${named(to)} is computed from the other.`);
      return;
    }
    const nodes = path.slice(0, MOST).sort((one, other) => one - other);
    this.shownAround = "";
    this.moved = false;
    this.show(neighbourhood(graph, nodes));
    const [first, last] = [path[0] ?? from, path.at(-1) ?? to];
    this.tell(
      `A shortest path from ${named(first)} to ${named(last)}: ${path.length} nodes. w shows the whole graph.`,
    );
  }

  private show(scene: Scene): void {
    if (!this.graph) return;
    const other = this.scene !== scene;
    this.scene = scene;
    this.canvas.show(scene, this.graph);
    if (other && !this.moved) this.fit();
    this.paint();
  }

  /** Set the line that describes the drawing. The search's line replaces it until that is empty. */
  private tell(words: string): void {
    this.aboutDrawing = words;
    this.showWords();
  }

  private showWords(): void {
    const words = this.aboutSearch || this.aboutDrawing;
    this.words.textContent = words;
    this.words.hidden = !words;
  }

  private say(): void {
    const { graph, current, lit } = this;
    if (!graph) return;
    const [first] = lit;
    const at = current ?? first ?? null;
    if (at === null) this.facts.replaceChildren(make("p", { class: "soft" }, wholeOf(graph)));
    else this.facts.replaceChildren(...factsOf(graph, at, (node) => this.keep(node)));
    this.facts.classList.toggle("of-node", at !== null);
  }

  private resized(): void {
    if (!this.graph || this.moved) return;
    if (this.scene && this.scene === this.whole) this.whole = null; // its size has changed
    if (this.address.hops === 0 || !this.lit.size) this.drawWhole();
    this.canvas.fit();
  }

  // --- moving ------------------------------------------------------------------------------------

  /** Show this many steps around the selection; 0 for the whole graph. */
  turn(hops: number): void {
    this.address.hops = hops;
    this.moved = false;
    this.showSteps();
    this.redraw();
    this.host.push();
  }

  private showSteps(): void {
    [...this.steps.children].forEach((segment, at) => {
      segment.setAttribute("aria-pressed", String(at === this.address.hops));
    });
  }

  private zoom(by: number): void {
    const { width, height } = this.canvas.size;
    const place = this.canvas.placeOf(this.lit);
    const [x, y] = place
      ? this.canvas.camera.toScreen(place.x + place.width / 2, place.y + place.height / 2)
      : [width / 2, height / 2];
    const inside = x > 0 && y > 0 && x < width && y < height;
    this.canvas.camera.scale(by, inside ? x : width / 2, inside ? y : height / 2);
    this.moved = true;
    this.canvas.later();
  }

  fit(): void {
    this.moved = false;
    this.canvas.fit();
  }

  /** Scroll to nodes, if none of them is visible. */
  private follow(nodes: ReadonlySet<number>): void {
    const place = this.canvas.placeOf(nodes);
    const { camera, size } = this.canvas;
    if (place && size.width && !camera.shows(place, size)) camera.centre(place, size);
  }

  /** The target of a click; on a line, the end that is further away. */
  private targetAt({ node, group, line }: Spot): Target | null {
    const { graph, scene } = this;
    if (!graph) return null;
    if (line) return (scene?.joins === "nodes" ? targetOf : targetOfGroup)(graph, line.far);
    if (node !== null) return targetOf(graph, node);
    return group === null ? null : targetOfGroup(graph, group);
  }

  private titleOf(end: number): string {
    const { graph, scene } = this;
    return (scene?.joins === "nodes" ? graph?.nodes[end]?.name : graph?.groups[end]?.title) ?? "";
  }

  private point(spot: Spot): void {
    const { graph } = this;
    if (!graph) return;
    const { node, group, line } = spot;
    const named = graph.nodes[node ?? -1];
    const about = [named && `${named.name}: ${named.op} ${named.type}`];
    about.push(graph.groups[group ?? -1]?.title);
    if (line) {
      const [from, to, far] = [line.from, line.to, line.far].map((end) => this.titleOf(end));
      about.push(`${from} → ${to}`, `Click to go to ${far}`);
    }
    this.canvas.element.title = about.filter(Boolean).join("\n");
    this.preview(node === null && !line ? null : this.targetAt(spot));
  }

  private preview(target: Target | null): void {
    const { host } = this;
    if (!target) host.previewed(null);
    else if ("entity" in target) host.previewed(host.index.selectEntity(target.entity));
    else host.previewed(host.index.selectLine(target.stage, target.line, -1, target.last));
  }

  private click(spot: Spot, extend: boolean): void {
    if (spot.node !== null && extend) this.drawPath(spot.node);
    else if (spot.node !== null) this.keep(spot.node);
    else {
      const target = this.targetAt(spot);
      if (target) this.host.select(target);
    }
  }

  private keep(node: number): void {
    const target = this.graph && targetOf(this.graph, node);
    if (!target) return;
    if (this.current !== null) this.current = node;
    this.host.select(target);
  }

  // --- by keyboard -------------------------------------------------------------------------------

  private reachSomething(): void {
    if (this.current !== null || !this.graph) return;
    const [first] = this.lit;
    this.reach(first ?? this.scene?.nodes[0]?.node ?? null);
  }

  private reach(node: number | null): void {
    this.current = node;
    if (node !== null) {
      this.follow(new Set([node]));
      this.preview(this.graph && targetOf(this.graph, node));
    }
    this.say();
    this.paint();
  }

  private beside(by: 1 | -1): number | null {
    const order = this.scene?.nodes ?? [];
    const at = order.findIndex((box) => box.node === this.current);
    return order[Math.min(order.length - 1, Math.max(0, at + by))]?.node ?? null;
  }

  private pressed(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const node = this.current === null ? null : this.graph?.nodes[this.current];
    const drawn = new Set(this.scene?.nodes.map((box) => box.node));
    const near = (nodes: readonly number[]) => nodes.find((at) => drawn.has(at)) ?? null;
    const does: Record<string, () => void> = {
      ArrowUp: () => this.reach(near(node?.inputs ?? []) ?? this.current),
      ArrowDown: () => this.reach(near(node?.users ?? []) ?? this.current),
      ArrowLeft: () => this.reach(this.beside(-1)),
      ArrowRight: () => this.reach(this.beside(1)),
      Enter: () => {
        if (this.current === null) return;
        if (event.shiftKey) this.drawPath(this.current);
        else this.keep(this.current);
      },
      " ": () => this.current !== null && this.keep(this.current),
      "+": () => this.zoom(1.4),
      "=": () => this.zoom(1.4),
      "-": () => this.zoom(1 / 1.4),
      "0": () => this.fit(),
    };
    const hops = ["w", "1", "2", "3"].indexOf(event.key);
    const run = hops < 0 ? does[event.key] : () => this.turn(hops);
    if (!run) return;
    event.preventDefault();
    event.stopPropagation();
    run();
  }

  // --- search ------------------------------------------------------------------------------------

  private search(): void {
    const words = this.box.value.toLowerCase().split(/\s+/).filter(Boolean);
    this.found = [];
    if (words.length) {
      this.graph?.nodes.forEach((node, at) => {
        const text = `${node.name} ${node.op} ${node.type}`.toLowerCase();
        if (words.every((word) => text.includes(word))) this.found.push(at);
      });
    }
    const all = this.graph?.nodes.length ?? 0;
    this.aboutSearch = words.length
      ? `${thousands(this.found.length)} of ${thousands(all)} nodes; Enter selects the next one.`
      : "";
    this.showWords();
    this.paint();
  }

  private searched(event: KeyboardEvent): void {
    if (event.key === "Escape") this.canvas.element.focus();
    if (event.key !== "Enter" || !this.found.length) return;
    event.preventDefault();
    const [last] = this.lit;
    const next = this.found.find((at) => at > (last ?? -1)) ?? this.found[0];
    if (next !== undefined) this.keep(next);
  }

  find(): void {
    this.box.focus();
    this.box.select();
  }

  focus(): void {
    this.canvas.element.focus();
  }

  recolour(): void {
    this.canvas.recolour();
  }

  close(): void {
    this.canvas.close();
  }
}
