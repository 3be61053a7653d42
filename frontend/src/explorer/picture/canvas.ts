// The picture on a canvas: draws the visible part, and finds what is under the pointer.
import { make } from "../../shared/elements";
import { Sheet } from "../../shared/sheet";
import { Camera } from "./camera";
import { complete, type Graph } from "./graph";
import type { Box, GroupBox, Line, NodeBox, Scene } from "./scene";
import { boundsOf, grown, holds } from "./scene";

export interface Lights {
  selected: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
  /** Matches of the picture's search. */
  found: ReadonlySet<number>;
  /** The node that the arrow keys have reached. */
  current: number | null;
}

const NO_LIGHTS: Lights = {
  selected: new Set(),
  hovered: new Set(),
  found: new Set(),
  current: null,
};

export interface Spot {
  node: number | null;
  group: number | null;
  /** A line between boxes, and the end that is further from the pointer. */
  line: { from: number; to: number; far: number } | null;
}

/** Width in pixels from which names are drawn: of a group, of a node. */
const TITLE_FROM = 36;
/** Fewest letters of a cut title: a shorter one would look like others. */
const FEWEST_LETTERS = 9;
/** Below this zoom, kernels show only their names: in the whole graph, and in a picture of some
 *  nodes, where the name would lie over them. */
const NODES_FROM = { groups: 0.75, nodes: 0.6 };
/** Pixels from a line within which the pointer counts as on it. */
const NEAR_PX = 5;
const NAME_FROM = 38;
/** Opacity of the colour of a kernel. */
const STRENGTH = 0.85;

/** Whether a position is this close to one of a line's segments. */
function isNear(points: readonly number[], x: number, y: number, reach: number): boolean {
  for (let at = 0; at + 3 < points.length; at += 2) {
    const [x1 = 0, y1 = 0, x2 = 0, y2 = 0] = points.slice(at, at + 4);
    const [dx, dy] = [x2 - x1, y2 - y1];
    const part = ((x - x1) * dx + (y - y1) * dy) / Math.max(1e-9, dx * dx + dy * dy);
    const along = Math.min(1, Math.max(0, part));
    if (Math.hypot(x - x1 - along * dx, y - y1 - along * dy) <= reach) return true;
  }
  return false;
}

export class Canvas extends Sheet {
  readonly camera = new Camera();
  private scene: Scene | null = null;
  private graph: Graph = complete("", "", [], []);
  private lights: Lights = NO_LIGHTS;
  private readonly mono = getComputedStyle(document.documentElement).getPropertyValue("--mono");

  constructor(resized: () => void) {
    super(make("canvas", { class: "picture-canvas" }));
    this.watch(() => {
      resized();
      this.draw();
    });
  }

  show(scene: Scene, graph: Graph): void {
    this.scene = scene;
    this.graph = graph;
    this.later();
  }

  light(lights: Lights): void {
    this.lights = lights;
    this.later();
  }

  /** Finds what is at a position of the canvas. */
  at(x: number, y: number): Spot {
    const [sceneX, sceneY] = this.camera.toScene(x, y);
    const near = Math.min(2, 1.5 / this.camera.zoom); // cells are small, so include their gaps
    const under = this.scene?.nodes.find((box) => holds(grown(box, near), sceneX, sceneY));
    if (under) return { node: under.node, group: under.group, line: null };
    const group = this.scene?.groups.find((box) => holds(box, sceneX, sceneY));
    if (group) return { node: null, group: group.group, line: null };
    const reach = NEAR_PX / this.camera.zoom;
    const line = this.scene?.lines.find(({ points }) => isNear(points, sceneX, sceneY, reach));
    if (!line) return { node: null, group: null, line: null };
    const { from, to, points } = line;
    const [startX = 0, startY = 0] = points;
    const [endX = 0, endY = 0] = points.slice(-2);
    const toStart = Math.hypot(sceneX - startX, sceneY - startY);
    const fromIsNearer = toStart < Math.hypot(sceneX - endX, sceneY - endY);
    return { node: null, group: null, line: { from, to, far: fromIsNearer ? to : from } };
  }

  /** Positions of some nodes. */
  placeOf(nodes: ReadonlySet<number>): Box | null {
    return boundsOf(this.scene?.nodes.filter((box) => nodes.has(box.node)) ?? []);
  }

  fit(): void {
    if (this.scene && this.size.width)
      this.camera.fit(this.scene, this.size, this.scene.joins === "nodes" ? 1.15 : 2);
    this.later();
  }

  private inSight(box: Box): boolean {
    const [left, top] = this.camera.toScreen(box.x, box.y);
    const { zoom } = this.camera;
    const { width, height } = this.size;
    return (
      left < width && top < height && left + box.width * zoom > 0 && top + box.height * zoom > 0
    );
  }

  draw(): void {
    const { pen, scene, camera } = this;
    const scale = this.begin();
    if (!scale || !scene) return;
    const zoom = camera.zoom * scale;
    pen.setTransform(zoom, 0, 0, zoom, camera.x * scale, camera.y * scale);
    const groups = scene.groups.filter((box) => this.inSight(box));
    const nodes = scene.nodes.filter((box) => this.inSight(box));
    const whole = camera.zoom < NODES_FROM[scene.joins];
    const lit = nodes.filter(
      ({ node }) => this.lights.selected.has(node) || this.lights.found.has(node),
    );
    const covered = new Set(whole ? lit.map((box) => box.group) : []); // no title fits beside nodes
    const alone = scene.joins === "nodes" ? nodes.filter(({ group }) => group === null) : [];
    const behind = scene.joins === "groups" || whole;
    if (behind) this.drawLines(scene);
    this.drawGroups(groups, whole);
    if (!behind) this.drawLines(scene);
    const drawn = whole ? [...new Set([...alone, ...lit])] : nodes;
    this.drawNodes(drawn);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    this.drawTitles(
      groups.filter((box) => !covered.has(box.group)),
      whole,
    );
    this.drawNames(drawn);
  }

  private colourOf(group: number | null): string {
    return this.ink(this.graph.groups[group ?? -1]?.hue ?? "other");
  }

  /** `solid`: groups are drawn in place of their nodes. */
  private drawGroups(boxes: readonly GroupBox[], solid: boolean): void {
    const { pen } = this;
    pen.lineWidth = Math.max(0.6, 0.8 / this.camera.zoom);
    for (const box of boxes) {
      pen.globalAlpha = 1;
      if (!this.graph.groups[box.group ?? -1]?.kernel) {
        pen.fillStyle = this.ink("sunk");
        pen.strokeStyle = this.ink("line");
        pen.fillRect(box.x, box.y, box.width, box.height);
      } else {
        pen.fillStyle = this.ink("panel");
        if (solid || this.scene?.joins === "groups")
          pen.fillRect(box.x, box.y, box.width, box.height);
        pen.fillStyle = pen.strokeStyle = this.colourOf(box.group);
        pen.globalAlpha = solid ? 0.3 * STRENGTH : 0.11;
        pen.fillRect(box.x, box.y, box.width, box.height);
        pen.globalAlpha = 0.45;
      }
      pen.strokeRect(box.x, box.y, box.width, box.height);
    }
    pen.globalAlpha = 1;
  }

  /** Lines at the selection stand out; all others are faint. */
  private drawLines({ joins, lines }: Scene): void {
    const { pen } = this;
    const { selected, hovered } = this.lights;
    const headed = joins === "nodes";
    const ends = new Set<number>();
    for (const at of [...selected, ...hovered]) {
      for (const end of headed ? [at] : (this.graph.nodes[at]?.groups ?? [])) ends.add(end);
    }
    const near =
      ends.size <= 60 ? lines.filter((line) => ends.has(line.from) || ends.has(line.to)) : [];
    pen.lineWidth = Math.max(0.5, 0.9 / this.camera.zoom);
    pen.strokeStyle = this.ink("faint");
    const [far, close] = [lines.filter((line) => line.far), lines.filter((line) => !line.far)];
    pen.globalAlpha = headed ? 0.75 : 0.3;
    this.stroke(close, headed);
    pen.globalAlpha = 0.1;
    this.stroke(far, false);
    pen.strokeStyle = this.ink("accent");
    pen.lineWidth *= 1.8;
    pen.globalAlpha = 0.9;
    this.stroke(near, true);
    pen.globalAlpha = 1;
  }

  private stroke(lines: readonly Line[], headed: boolean): void {
    const { pen } = this;
    pen.beginPath();
    for (const { points } of lines) {
      const [x = 0, y = 0] = points;
      pen.moveTo(x, y);
      for (let at = 2; at < points.length; at += 2) {
        pen.lineTo(points[at] as number, points[at + 1] as number);
      }
      if (headed) {
        const [fromX = 0, fromY = 0, toX = 0, toY = 0] = points.slice(-4);
        const length = Math.hypot(toX - fromX, toY - fromY) || 1;
        const [alongX, alongY] = [(toX - fromX) / length, (toY - fromY) / length];
        pen.moveTo(toX - 5 * alongX - 3 * alongY, toY - 5 * alongY + 3 * alongX);
        pen.lineTo(toX, toY);
        pen.lineTo(toX - 5 * alongX + 3 * alongY, toY - 5 * alongY - 3 * alongX);
      }
    }
    pen.stroke();
  }

  private drawNodes(boxes: readonly NodeBox[]): void {
    const { pen } = this;
    const { selected, hovered, found, current } = this.lights;
    const large = (boxes[0]?.height ?? 0) > 20; // boxes with text, not cells
    const dimmed = selected.size > 0 && !large;
    for (const box of boxes) {
      const lit = selected.has(box.node);
      const given = this.graph.nodes[box.node]?.given;
      pen.globalAlpha = dimmed && !lit ? 0.38 : 1;
      if (large) {
        pen.fillStyle = this.ink(lit ? "pin" : "panel");
        pen.fillRect(box.x, box.y, box.width, box.height);
        pen.fillStyle = this.colourOf(box.computed ? box.group : null);
        pen.fillRect(box.x, box.y, 3, box.height);
        pen.lineWidth = 1;
        pen.strokeStyle = this.ink("edge");
        if (given) pen.setLineDash([3, 2]);
        pen.strokeRect(box.x, box.y, box.width, box.height);
        pen.setLineDash([]);
      } else if (box.computed) {
        pen.globalAlpha *= STRENGTH;
        pen.fillStyle = this.colourOf(box.group);
        pen.fillRect(box.x, box.y, box.width, box.height);
      } else {
        pen.strokeStyle = this.ink("edge");
        pen.lineWidth = 1;
        this.outline(box, given ? -3 : -1.5);
      }
    }
    pen.globalAlpha = 1;
    const thin = Math.max(1.4, 2 / this.camera.zoom);
    for (const box of boxes) {
      const lit = selected.has(box.node);
      const marked = found.has(box.node);
      if (!lit && !marked && !hovered.has(box.node) && box.node !== current) continue;
      pen.strokeStyle = this.ink(marked && !lit ? "warn" : "accent");
      pen.lineWidth = lit || marked ? thin : thin * 0.7;
      const out = lit ? thin / 2 + 0.6 : 0;
      this.outline(box, out);
      if (box.node !== current) continue;
      pen.setLineDash([2 * thin, thin]);
      pen.strokeStyle = this.ink("ink");
      this.outline(box, out + 1.6 * thin);
      pen.setLineDash([]);
    }
  }

  /** `by`: how far outside the box. */
  private outline(box: Box, by: number): void {
    const { x, y, width, height } = grown(box, by);
    this.pen.strokeRect(x, y, width, height);
  }

  private drawTitles(boxes: readonly GroupBox[], solid: boolean): void {
    const { pen } = this;
    const { zoom } = this.camera;
    const above = this.scene?.joins === "nodes" ? 10 : 7.5;
    pen.textBaseline = "middle";
    pen.font = `10.5px ${this.mono}`;
    pen.fillStyle = this.ink("soft");
    for (const box of boxes) {
      const width = box.width * zoom;
      const title = this.graph.groups[box.group ?? -1]?.title;
      if (!title || width < TITLE_FROM) continue;
      if ((width - 8) / 6.4 < Math.min(FEWEST_LETTERS, title.length)) continue;
      const [x, y] = this.camera.toScreen(box.x, box.y);
      const down = Math.min(11, solid ? (box.height * zoom) / 2 : above * zoom);
      this.write(title, x + 5, y + down, width - 8);
    }
  }

  private drawNames(boxes: readonly NodeBox[]): void {
    const { pen } = this;
    const { zoom } = this.camera;
    for (const box of boxes) {
      const [width, height] = [box.width * zoom, box.height * zoom];
      if (width < NAME_FROM || height < 12) continue;
      const node = this.graph.nodes[box.node];
      if (!node) continue;
      const [x, y] = this.camera.toScreen(box.x, box.y);
      const solid = box.computed && box.height < 20;
      pen.fillStyle = solid ? this.ink("panel") : this.ink("ink");
      const two = height >= 28;
      pen.font = `${box.height > 20 ? "600 " : ""}11px ${this.mono}`;
      this.write(node.name, x + 6, y + height * (two ? 0.32 : 0.5), width - 8);
      if (!two) continue;
      if (!solid) pen.fillStyle = this.ink("soft");
      pen.font = `10.5px ${this.mono}`;
      const about = node.type ? `${node.op} ${node.type}` : node.op;
      this.write(about, x + 6, y + height * 0.7, width - 8);
    }
  }

  /** A text, cut in the middle to a width; the font is monospaced. */
  private write(text: string, x: number, y: number, room: number) {
    const letters = Math.floor(room / 6.4);
    if (letters < 3) return;
    const tail = Math.min(6, Math.floor(letters / 3));
    const cut =
      text.length <= letters
        ? text
        : `${text.slice(0, letters - tail - 1)}…${tail ? text.slice(-tail) : ""}`;
    this.pen.fillText(cut, x, y);
  }
}
