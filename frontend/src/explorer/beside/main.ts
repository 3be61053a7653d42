// Entry of the page that shows two texts side by side.

import type { RunPage } from "../../shared/api";
import { make } from "../../shared/elements";
import { count, microseconds } from "../../shared/figures";
import { inSlices, pause } from "../../shared/frames";
import { key, listen } from "../../shared/keys";
import { ask, sentenceOf } from "../../shared/server";
import { OPENED } from "../../shared/vocabulary";
import type { CodeOptions } from "../code/code";
import { differences, type LevelLine, level, type Side } from "../code/level";
import { withoutNoise } from "../code/noise";
import { kernelTitle } from "../kernel-names";
import { scrollTogether } from "../panes/compare";
import { EXACT } from "../state/certainty";
import type { Matches } from "../state/links";
import { NO_MARKS } from "../state/marks";
import { hideNoise } from "../state/preferences";
import { Half } from "./half";
import { type Named, nameOf } from "./name";
import { differencesOf, operationsOf } from "./tally";

/** Lines of the left text, or else of the right, whose differences are hidden. */
function hiddenOf(all: readonly [Side, Side], shown: readonly [Side, Side]): number {
  const count = ({ only, moved, changed }: Side) => only.size + moved.size + changed.size;
  return Math.max(...all.map((side, at) => count(side) - count(shown[at] as Side)));
}

class Beside {
  private readonly halves: [Half, Half];
  /** Number of all differences. */
  private all: [Side, Side] | null = null;
  /** Number of shown differences. */
  private sides: [Side, Side] | null = null;
  private lines: [LevelLine[], LevelLine[]] | null = null;
  /** How the shown kernels were matched. */
  private followed: string | null = null;
  private readonly hider: HTMLInputElement;
  /** Stops scrolling both together. */
  private apart: (() => void) | null = null;
  private readonly options: CodeOptions = { folded: false, wrapped: false, only: false };
  private differences: number[] = [];
  private at = -1;
  private active = 0;

  constructor(private readonly root: HTMLElement) {
    const [left, right] = [...root.querySelectorAll<HTMLElement>(".beside-half")];
    if (!left || !right) throw new Error("The page has no sides.");
    this.halves = [new Half(left), new Half(right)];
    this.hider = root.querySelector(".hide-noise input") as HTMLInputElement;
    this.hider.checked = hideNoise.read();
    this.hider.addEventListener("change", () => this.toggleNoise());
    this.bindKeys();
  }

  async start(): Promise<void> {
    await Promise.all(this.halves.map((half) => half.fetch()));
    const [left, right] = this.halves;
    const followed = right.follow(left) ?? left.follow(right);
    for (const half of this.halves) this.fill(half);
    const troubles = await Promise.all(
      this.halves.map((half, at) => {
        const clicked = (line: number) => this.choose(at, line);
        return half.show({ hovered: () => {}, reached: clicked, clicked }, this.options);
      }),
    );
    this.halves.forEach((half, at) => {
      const trouble = troubles[at];
      if (trouble)
        half.part(".pane-body").replaceChildren(make("p", { class: "pane-empty" }, trouble));
    });
    const nothing = "One side has no text, so there is nothing to compare.";
    if (troubles.some(Boolean)) this.say(followed ?? nothing);
    else await this.compare(followed);
  }

  /** Choosers for what a side shows; a choice goes to its address. */
  private fill(half: Half): void {
    const { named, picture } = half;
    if (!picture) return;
    const stages = half.part<HTMLSelectElement>("select.stage");
    for (const stage of picture.stages) {
      if (!stage.files.length || stage.id === "source") continue;
      stages.append(make("option", { value: stage.id }, stage.title));
    }
    stages.value = named.stage;
    const kernels = half.part<HTMLSelectElement>("select.kernel");
    for (const kernel of picture.kernels) {
      if (kernel.first === null) continue;
      const time = kernel.time_us === null ? "" : ` · ${microseconds(kernel.time_us)}`;
      const label = kernelTitle(kernel) + time;
      kernels.append(make("option", { value: kernel.name, title: kernel.name }, label));
    }
    kernels.value = named.kernel;
    kernels.title = named.kernel;
    kernels.hidden = named.stage !== "kernel";
    const run = half.part<HTMLSelectElement>("select.run");
    const graph = half.part<HTMLSelectElement>("select.graph");
    run.addEventListener("change", () => void this.turnToRun(half, run.value));
    graph.addEventListener("change", () => this.turn(half, { graph: graph.value, kernel: "" }));
    stages.addEventListener("change", () => this.turn(half, { stage: stages.value }));
    kernels.addEventListener("change", () => this.turn(half, { kernel: kernels.value }));
    this.lead(half, null);
  }

  /** For another run: its graph with the same name or direction, or else its first. */
  private async turnToRun(half: Half, run: string): Promise<void> {
    try {
      const { graphs } = await ask<RunPage>(`/api/runs/${run}`);
      const { slug, direction } = half.picture?.graph ?? { slug: "", direction: "" };
      const likely =
        graphs.find((each) => each.slug === slug) ??
        graphs.find((each) => each.direction === direction) ??
        graphs[0];
      if (likely) this.turn(half, { run, graph: likely.slug, kernel: "" });
      else this.say("That run has no graphs to compare.");
    } catch (trouble) {
      half.part<HTMLSelectElement>("select.run").value = half.named.run;
      this.say(sentenceOf(trouble));
    }
  }

  private turn(half: Half, change: Partial<Named>): void {
    const [left, right] = this.halves.map((each) =>
      each === half ? { ...each.named, ...change } : each.named,
    ) as [Named, Named];
    this.go(left, right);
  }

  private go(left: Named, right: Named): void {
    location.assign(`/beside?left=${nameOf(left)}&right=${nameOf(right)}`);
  }

  private async compare(followed: string | null): Promise<void> {
    const [left, right] = this.halves;
    const same = left.named.run === right.named.run && left.named.graph === right.named.graph;
    this.lines = [await inSlices(left.lines(same)), await inSlices(right.lines(same))];
    this.all = await inSlices(level(...this.lines));
    this.followed = followed;
    await this.showDifferences();
    this.scroll();
    const line = Number(/^#line=(\d+)$/.exec(location.hash)?.[1] ?? 0);
    if (line) this.open(line);
    else if (this.differences.length) this.step(1);
  }

  /** Scroll both sides together. */
  private scroll(): void {
    const [left, right] = this.halves;
    this.apart?.();
    this.apart = scrollTogether(left.code, right.code);
  }

  /** Mark all differences, or only the relevant ones. */
  private async showDifferences(): Promise<void> {
    const { all, lines, halves } = this;
    if (!all || !lines) return;
    const hidden = hideNoise.read();
    const sides = hidden ? await inSlices(withoutNoise(all, lines)) : all;
    for (const [at, half] of halves.entries()) {
      await pause();
      if (hidden !== hideNoise.read()) return; // chosen anew meanwhile
      half.code?.level(sides[at] as Side, this.options);
    }
    await pause();
    this.sides = sides;
    const [left, right] = halves;
    this.differences = differencesOf(...sides, left.texts.length, right.texts.length);
    this.at = -1;
    this.mark(null);
    this.tell(sides);
  }

  private toggleNoise(): void {
    hideNoise.write(!hideNoise.read());
    this.hider.checked = hideNoise.read();
    void this.showDifferences();
  }

  /** Open on a line of the left and its counterpart on the right: the line next to it, or one from
   * the same source line. */
  private open(line: number): void {
    const [left, right] = this.halves;
    left.code?.reveal(line, true);
    this.choose(0, line);
    if (this.sides?.[0].beside.has(line - left.first + 1)) return;
    const sources = left.sourcesOfLine(line);
    const other = sources.size
      ? right.lineFrom(sources, left.texts[line - left.first] ?? "")
      : null;
    const from = [...sources].slice(0, 2).join(", ");
    if (other === null) {
      this.say(`The right has no line that comes from ${from || "the same source line"}.`);
      return;
    }
    this.apart?.(); // the two are not aligned
    this.mark([line - left.first + 1, other - right.first + 1]);
    this.lead(right, other);
    right.code?.reveal(other, true);
    this.say(`Line ${other} of the right comes from ${from} too.`);
  }

  private tell([one, other]: readonly [Side, Side]): void {
    const [left, right] = this.halves;
    const alike = [one.only, other.only, one.moved, one.changed].every((lines) => !lines.size);
    const words = alike
      ? `${left.title} and ${right.title} are the same, line for line.`
      : `${differences(one, other)}.`;
    const hidden = hideNoise.read() && this.all ? hiddenOf(this.all, [one, other]) : 0;
    const more = hidden
      ? ` ${count(hidden, "line differs", "lines differ")} only in comments, paths or numbers (h shows them).`
      : "";
    this.say(`${this.followed ? `${this.followed} ` : ""}${words}${more}`);
    const facts = this.halves.map((half, at) => {
      const { named, kernel, picture } = half;
      const time = named.stage === "kernel" ? kernel?.time_us : picture?.graph_time_us;
      const parts = [at ? "Right" : "Left", count(half.texts.length, "line")];
      if (named.stage !== "kernel" && picture) {
        parts.push(
          count(picture.graph.node_count, "node"),
          count(picture.kernels.length, "kernel"),
        );
      }
      if (named.stage === "kernel" && kernel) parts.push(count(kernel.calls.length, "call"));
      parts.push(time == null ? "no time known" : `${microseconds(time)} a step`);
      const alone = operationsOf(half.texts, (at ? other : one).only);
      return `${parts.join(" · ")}${alone ? `. Only here: ${alone}` : ""}`;
    });
    const tally = this.root.querySelector<HTMLElement>(".beside-tally");
    if (!tally) return;
    tally.replaceChildren(...facts.map((fact) => make("span", {}, fact)));
    tally.hidden = false;
  }

  private say(words: string): void {
    const where = this.differences.length && this.at >= 0 ? this.where() : "";
    this.root
      .querySelector(".what")
      ?.replaceChildren(
        make("span", { title: words }, words),
        make("span", { class: "soft" }, where),
      );
  }

  private where(): string {
    return `difference ${this.at + 1} of ${this.differences.length}`;
  }

  /** The ruler shows all differences; the chosen line and the one next to it are highlighted. */
  private mark(chosen: [number | null, number | null] | null): void {
    this.halves.forEach((half, at) => {
      const side = this.sides?.[at];
      const { code, first } = half;
      if (!side || !code) return;
      const line = chosen?.[at] ?? null;
      const current = line === null ? null : line + first - 1;
      code.mark({ ...NO_MARKS, current });
      const lines = Int32Array.from(
        [...side.only, ...side.moved.keys(), ...side.changed.keys()].sort((a, b) => a - b),
      );
      const pinned: Matches = {
        lines: lines.map((each) => each + first - 1),
        known: new Uint8Array(lines.length).fill(EXACT),
        entities: new Int32Array(lines.length),
      };
      code.ruler.show({ ...NO_MARKS, pinned }, first, Math.max(1, half.texts.length));
    });
  }

  private choose(at: number, artifactLine: number): void {
    this.active = at;
    const half = this.halves[at];
    const side = this.sides?.[at];
    if (!half || !side) return;
    const line = artifactLine - half.first + 1;
    const other = side.beside.get(line) ?? null;
    this.mark(at === 0 ? [line, other] : [other, line]);
    this.lead(half, artifactLine);
    const across = this.halves[1 - at];
    if (across) this.lead(across, other === null ? null : other + across.first - 1);
  }

  /** The address in the explorer of a side's text, or of its chosen line. */
  private lead(half: Half, line: number | null): void {
    const { stage, kernel } = half.named;
    const query = new URLSearchParams();
    if (stage === "kernel") query.set("kernel", kernel);
    if (!OPENED.includes(stage)) {
      query.set("panes", `source,${stage},kernel`);
    }
    if (line !== null) query.set("sel", `${stage}:${line}`);
    const link = half.part<HTMLAnchorElement>(".in-explorer");
    const written = query.toString().replace(/%2C/g, ",").replace(/%3A/g, ":");
    link.href = `${half.root.dataset.graphUrl}${written ? `?${written}` : ""}`;
    link.title = "Open this text in the explorer, with the chosen line";
  }

  private step(by: 1 | -1): void {
    const { differences, halves, sides } = this;
    if (!differences.length || !sides) return;
    this.scroll();
    this.at = (this.at + by + differences.length) % differences.length;
    const line = differences[this.at] as number;
    const [left, right] = halves;
    left.code?.reveal(line + left.first - 1);
    this.mark([line, sides[0].beside.get(line) ?? null]);
    this.lead(left, line + left.first - 1);
    const other = sides[0].beside.get(line);
    if (other) this.lead(right, other + right.first - 1);
    const what = this.root.querySelector(".what > .soft");
    if (what) what.textContent = this.where();
  }

  private bindKeys(): void {
    listen(this.root, [
      key(["n"], "n", "next difference", () => this.step(1)),
      key(["p"], "p", "previous difference", () => this.step(-1)),
      key(["h"], "h", "hide or show differences that are only comments, paths or numbers", () =>
        this.toggleNoise(),
      ),
      key(["s"], "s", "swap the sides", () => this.go(this.halves[1].named, this.halves[0].named)),
      key(["f"], "f", "find in the side", () => this.halves[this.active]?.code?.find()),
      key(["ArrowLeft"], "←", "to the left side", () => this.focus(0)),
      key(["ArrowRight"], "→", "to the right side", () => this.focus(1)),
      key(["Enter"], "Enter", "follow the line to the other side", () => {
        const line = this.halves[this.active]?.code?.caretLine();
        if (line) this.choose(this.active, line);
      }),
    ]);
    this.root.querySelector(".next")?.addEventListener("click", () => this.step(1));
    this.root.querySelector(".previous")?.addEventListener("click", () => this.step(-1));
    this.root.addEventListener("focusin", (event) => {
      const at = this.halves.findIndex((half) => half.root.contains(event.target as Node));
      if (at >= 0) this.active = at;
    });
  }

  private focus(at: number): void {
    this.active = at;
    this.halves[at]?.code?.focus();
  }
}

const root = document.querySelector<HTMLElement>("#beside");
if (root) {
  new Beside(root)
    .start()
    .catch((trouble: unknown) => {
      const words = make("p", { class: "pane-empty", role: "alert" }, sentenceOf(trouble));
      root.querySelector(".beside-halves")?.replaceChildren(words);
    })
    .finally(() => {
      root.dataset.ready = "true";
    });
}
