// Entry of the playground: compiles what is typed and shows it in the explorer next to the editor.

import type { Explorer } from "../explorer/explorer";
import { start } from "../explorer/start";
import { openingTarget } from "../explorer/state/opening";
import { startTop } from "../page/header";
import type { PlayPage, PlayReady, Tried } from "../shared/api";
import { button, make } from "../shared/elements";
import { microseconds } from "../shared/figures";
import { ask, askText, sentenceOf } from "../shared/server";
import { POST_GRAD } from "../shared/vocabulary";
import { Editor } from "./editor";

const PANES = `panes=${POST_GRAD},kernel`;
const FIRST_LINES = 3;
const LONGEST = 400;
const PAUSE_MS = 700;

interface Shown {
  run: string;
  graph: string;
}

/** A graph whose program is edited. */
interface Fork extends Shown {
  code: string;
  /** Milliseconds of a call of the program as it was. */
  call: number | null;
  uploaded: boolean;
}

class Play {
  private readonly fork: Fork | null = null;
  private readonly editor: Editor;
  private readonly form: HTMLFormElement;
  private explorer: Explorer | null = null;
  private shown: Shown | null = null;
  /** The first try, or the last one that the reader requested; others are compared with it. */
  private base: Shown | null = null;
  private file = "";
  private busy = false;
  private ready = false;
  /** Why the next try is compiled: on request, or because the reader typed. */
  private next: "asked" | "typed" | null = null;
  private pause = 0;
  private compiled = "";

  constructor(private readonly root: HTMLElement) {
    this.form = this.part("form");
    const typed = this.part<HTMLTextAreaElement>("textarea");
    this.editor = new Editor(this.part(".play-editor"), typed.value, {
      compile: () => void this.compile("asked"),
      edited: () => this.wait(),
      reached: (line) => this.select(line),
    });
    const { fork, graph, line, uploaded } = root.dataset;
    if (fork && graph) {
      const original = { run: fork, graph };
      this.fork = { ...original, code: typed.value, call: null, uploaded: uploaded === "true" };
      this.editor.reach(Number(line));
    }
    typed.remove();
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.compile("asked");
    });
    this.form.addEventListener("change", () => this.wait());
    const lesson = this.field("lesson");
    lesson.addEventListener("change", () => void this.begin(lesson.value));
    root.addEventListener("click", ({ target }) => {
      const card = target instanceof Element ? target.closest<HTMLElement>("[data-lesson]") : null;
      if (card) void this.begin(card.dataset.lesson ?? "");
    });
    this.part(".play-keep").addEventListener("click", () => void this.keep());
    const path = location.pathname;
    window.addEventListener("popstate", () => {
      if (location.pathname !== (this.shown ? this.pathOf(this.shown.run) : path))
        location.reload();
    });
  }

  async start(): Promise<void> {
    const { run, graph, file } = this.part(".play-result").dataset;
    if (run && graph) {
      this.shown = this.base = { run, graph };
      this.file = file ?? "";
      await this.explore(this.editor.text);
    }
    this.editor.view.focus();
    if (!this.canCompile) return;
    if (!this.shown) this.say("", "Starting torch …");
    try {
      const ready = await ask<PlayReady>(this.api("/ready"), { method: "POST" });
      this.part(".play-walls ul").replaceChildren(...wallsOf(ready));
      this.editor.complete(ready.names);
      this.ready = true;
      if (!ready.cuda) this.field("device").querySelector("option + option")?.remove();
      if (this.fork) {
        if (!ready.cuda) this.leaveGpu(this.fork);
        await this.compile("asked");
      }
      if (!this.shown && !this.busy) this.say("", "Ready: type, or press Ctrl-Enter to compile.");
    } catch (trouble) {
      this.say("bad", sentenceOf(trouble));
    }
  }

  /** Compile the program for the CPU, because this server has no GPU for it. */
  private leaveGpu(fork: Fork): void {
    if (this.root.dataset.device !== "cuda") return;
    const line = this.editor.caretLine;
    fork.code = fork.code.replace(/device\(type='cuda'(, index=\d+)?\)/g, "device(type='cpu')");
    this.editor.text = fork.code;
    this.editor.reach(line);
    this.part(".play-look").append(". This server has no GPU for tries, so the CPU runs it.");
  }

  private part<Kind extends HTMLElement = HTMLElement>(selector: string): Kind {
    return this.root.querySelector(selector) as Kind;
  }

  private field(name: string): HTMLSelectElement {
    return this.form.elements.namedItem(name) as HTMLSelectElement;
  }

  private api(path = ""): string {
    return `${this.root.dataset.api}${path}`;
  }

  private pathOf(run: string): string {
    return `${this.root.dataset.play}/${run}`;
  }

  private get canCompile(): boolean {
    return !this.part<HTMLButtonElement>("form .main").disabled;
  }

  private say(kind: string, words: string, ...more: (Node | string)[]): void {
    const chip = kind ? make("span", { class: `chip ${kind}` }, "failed") : null;
    const line = make("p", {}, chip, chip ? " " : null, words, ...more);
    this.part(".play-said").replaceChildren(line);
  }

  /** Load an example with its options, and compile it. */
  private async begin(id: string): Promise<void> {
    this.field("lesson").value = "";
    const page = await ask<PlayPage>(this.api()).catch((trouble) =>
      this.say("bad", sentenceOf(trouble)),
    );
    const lesson = page?.lessons.find((each) => each.id === id);
    if (!lesson) return;
    for (const field of this.form.querySelectorAll<HTMLSelectElement>("details select")) {
      field.value = lesson.options[field.name] ?? (field.name === "device" ? "cpu" : "");
    }
    this.part<HTMLDetailsElement>("form details").open = Object.keys(lesson.options).length > 0;
    this.part(".play-look").textContent = lesson.look;
    this.part(".play-look").hidden = false;
    this.editor.text = lesson.code;
    this.editor.view.focus();
    await this.compile("asked");
  }

  /** Compile when nothing has been typed for a moment. */
  private wait(): void {
    clearTimeout(this.pause);
    const typing = this.form.elements.namedItem("typing") as HTMLInputElement;
    if (!this.ready || !typing.checked) return;
    this.pause = window.setTimeout(() => {
      const body = JSON.stringify(this.asked(this.editor.text));
      if (body !== this.compiled) void this.compile("typed");
    }, PAUSE_MS);
  }

  private asked(code: string): object {
    const chosen = (name: string) => this.field(name).value || null;
    const dynamic = chosen("dynamic");
    const config: Record<string, string> = {};
    for (const { name, value } of this.form.querySelectorAll<HTMLSelectElement>("details select")) {
      if (name.startsWith("config.") && value) config[name.slice("config.".length)] = value;
    }
    return {
      code,
      name: /^#\s*(\S.{0,98})/.exec(code)?.[1]?.trim() ?? null,
      device: chosen("device") ?? "cpu",
      mode: chosen("mode"),
      dtype: chosen("dtype"),
      dynamic: dynamic === null ? null : dynamic === "true",
      config,
      fork: this.fork?.run ?? null,
      agreed: this.fork?.uploaded ?? false,
    };
  }

  /** Compile the code. The previous result stays until the new one arrives. */
  private async compile(why: "asked" | "typed"): Promise<void> {
    clearTimeout(this.pause);
    if (!this.canCompile || this.asksFirst(why)) return;
    if (this.busy) {
      if (this.next !== "asked") this.next = why;
      return;
    }
    this.busy = true;
    this.root.classList.add("busy");
    this.say("", "Compiling …");
    const code = this.editor.text;
    const begin = performance.now();
    try {
      const body = this.asked(code);
      this.compiled = JSON.stringify(body);
      const tried = await ask<Tried>(this.api("/tries"), {
        method: "POST",
        body: { ...body, timed: this.fork !== null && why === "asked" },
      });
      if (this.fork && code === this.fork.code) this.fork.call ??= tried.call_ms;
      const printed = this.part(".play-printed");
      printed.textContent = tried.printed;
      printed.hidden = !tried.printed.trim();
      const message = shortened(tried.error ?? "");
      const there = this.editor.showError(tried.line, message);
      if (tried.run) await this.turnTo(tried.run, code, why);
      const what = there ? `Line ${tried.line}: ${message.split(":")[0]}.` : message;
      if (tried.error) this.say("bad", what);
      else this.tell(tried, (performance.now() - begin) / 1000);
      if (tried.run && why === "asked" && !this.fork) this.base = this.shown;
    } catch (trouble) {
      this.say("bad", sentenceOf(trouble));
    } finally {
      this.busy = false;
      this.root.classList.remove("busy");
    }
    const { next } = this;
    this.next = null;
    if (next) await this.compile(next);
  }

  private tell(tried: Tried, whole: number): void {
    const shownAfter = `Shown after ${whole.toFixed(1)} s: compiled in ${tried.compile_seconds.toFixed(1)} s, read in ${tried.read_seconds.toFixed(1)} s.`;
    const words = `${this.timesOf(tried)}${shownAfter}`;
    const { base, shown } = this;
    if (!base || !shown || base.run === shown.run) {
      this.say("", words);
      return;
    }
    const name = ({ run, graph }: Shown) => `${run}/${encodeURIComponent(graph)}/kernel`;
    const beside = `/beside?left=${name(base)}&right=${name(shown)}`;
    this.say(
      "",
      `${words} With the ${this.fork ? "original" : "try before"}: `,
      make("a", { href: beside }, "kernels side by side"),
      ", ",
      make("a", { href: `/compare/${base.run}/${shown.run}` }, "compare"),
      ".",
    );
  }

  private timesOf({ call_ms }: Tried): string {
    if (call_ms === null) return "";
    const before = this.fork?.call ?? call_ms;
    const change = before === call_ms ? "" : `, as forked ${microseconds(1000 * before)}`;
    return `A call takes ${microseconds(1000 * call_ms)}${change} (one process each). `;
  }

  /** Whether the reader must agree before code of an uploaded run runs; then ask. */
  private asksFirst(why: "asked" | "typed"): boolean {
    const key = `fork ${this.fork?.run}`;
    if (!this.fork?.uploaded || localStorage.getItem(key)) return false;
    if (why === "typed") return true;
    const agree = button("Run it", {}, () => {
      localStorage.setItem(key, "agreed");
      this.editor.view.focus();
      void this.compile("asked");
    });
    this.say("", "This code comes from an uploaded run. It runs confined. Run it? ", agree);
    agree.focus();
    return true;
  }

  /** Show a try in place of the current one. */
  private async turnTo(run: string, code: string, why: "asked" | "typed"): Promise<void> {
    const path = this.pathOf(run);
    const text = await askText(path, { "hx-request": "true" });
    const result = new DOMParser()
      .parseFromString(text, "text/html")
      .querySelector<HTMLElement>(".play-result");
    if (!result) throw new Error("The result could not be shown.");
    const panes = /panes=[^&]*/.exec(location.search)?.[0] ?? PANES;
    const address = `${path}?${panes}`;
    if (why === "asked") history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.explorer?.close();
    this.part(".play-result").replaceWith(document.adoptNode(result));
    this.shown = { run, graph: result.dataset.graph ?? "" };
    this.file = result.dataset.file ?? "";
    const link = this.part<HTMLAnchorElement>(".play-run");
    link.href = `/runs/${run}`;
    link.hidden = this.part(".play-keep").hidden = false;
    await this.explore(code);
  }

  private async explore(code: string): Promise<void> {
    if (!/panes=/.test(location.search)) {
      history.replaceState(null, "", `${location.pathname}?${PANES}`);
    }
    const root = this.part(".explorer");
    const explorer = await start(root);
    this.explorer = explorer;
    if (!explorer) return;
    const key = `source:${this.file}`;
    if (this.file) {
      this.editor.colour(code, (line) => explorer.tints.of(key, line));
      explorer.onLight = () => {
        const address = { stage: "source", file: this.file, hops: 0 };
        this.editor.mark(explorer.state.marksIn(address));
      };
    }
    const line = this.editor.caretLine;
    const linked = explorer.index.linkedLines(key).includes(line);
    const opening = openingTarget(explorer.picture, explorer.index, explorer.errors);
    if (/sel=/.test(location.search)) explorer.onLight();
    else explorer.select(linked ? { stage: "source", file: this.file, line } : opening);
    await explorer.settled;
    this.root.dataset.run = this.shown?.run ?? "";
  }

  private select(line: number): void {
    const { explorer, file } = this;
    const linked = explorer?.index.linkedLines(`source:${file}`).includes(line);
    if (linked) explorer?.select({ stage: "source", file, line });
  }

  private async keep(): Promise<void> {
    if (!this.shown) return;
    try {
      const { shown } = await ask<PlayPage>(`/api${this.pathOf(this.shown.run)}`);
      const tags = [...(shown?.tags ?? []), "kept"];
      await ask(`/api/runs/${this.shown.run}`, { method: "PATCH", body: { tags } });
      this.part(".play-keep").hidden = true;
      this.say("", "Kept until you delete its run.");
    } catch (trouble) {
      this.say("bad", sentenceOf(trouble));
    }
  }
}

/** Errors of torch can be several pages long. */
function shortened(error: string): string {
  const lines = error.split("\n").filter((line) => line.trim());
  const whole = lines.slice(0, FIRST_LINES).join(" ");
  return whole.length > LONGEST ? `${whole.slice(0, LONGEST).replace(/\s+\S*$/, "")} …` : whole;
}

function wallsOf({ protections }: PlayReady): HTMLElement[] {
  return Object.entries(protections).map(([what, why]) => {
    const chip = make("span", { class: `chip ${why ? "warn" : "good"}` }, why ? "no" : "yes");
    return make(
      "li",
      {},
      chip,
      ` ${what}${why ? `: this machine does not allow it (${why})` : ""}`,
    );
  });
}

startTop();
const root = document.querySelector<HTMLElement>("main.play");
if (root) void new Play(root).start();
