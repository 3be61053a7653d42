// One pane: its choosers, and its code or the reason why there is none.

import { button, icon, make } from "../../shared/elements";
import { count, microseconds } from "../../shared/figures";
import { isCompiled } from "../../shared/naming";
import { loaded, mayPass, sentenceOf } from "../../shared/server";
import { POST_GRAD } from "../../shared/vocabulary";
import { type Aim, Code, type CodeOptions } from "../code/code";
import type { WarmthOf } from "../code/heat";
import { kernelName } from "../kernels/name";
import type { PictureHost, PictureView } from "../picture/view";
import type { Kernel, KernelCall, Stage } from "../shapes";
import type { PaneAddress } from "../state/address";
import type { CompileError } from "../state/compile-errors";
import type { CodeContent, Content } from "../state/content";
import type { Marks } from "../state/marks";
import type { Texts } from "../state/texts";
import type { Tints } from "../state/tints";
import { compareMenu, type Entry } from "./compare-menu";
import { KernelMenu, type KernelMenuHost } from "./kernel-menu";

export interface PaneHost extends KernelMenuHost, PictureHost {
  readonly texts: Texts;
  readonly options: CodeOptions;
  readonly tints: Tints;
  readonly errors: readonly CompileError[];
  /** The cost of a text's lines. */
  warmthOf(content: CodeContent): Promise<WarmthOf>;
  /** A compiled text of a kernel. */
  compiledText(key: string): Promise<string>;
  hovered(pane: Pane, line: number | null): void;
  named(name: string): void;
  /** Select a line, or all lines from the selected one to it. */
  pin(pane: Pane, line: number, extend: boolean): void;
  chosen(pane: Pane, stage: string, file: string | null): void;
  handleChosen(handle: number | null): void;
  added(pane: Pane): void;
  compared(pane: Pane): void;
  comparable(pane: Pane): Entry[];
  closed(pane: Pane): void;
}

let paneCount = 0;

/** Where reading begins: for a kernel, at its function. */
function startOf(text: string, stage: string): number {
  if (stage !== "kernel") return 0;
  const sign = /^(?:@triton\.jit|extern "C"|def )/;
  return text.split("\n", 2000).findIndex((line) => sign.test(line));
}

function timeOfCall({ time_us, measured }: KernelCall): string {
  if (time_us === null) return "";
  return `, ${measured ? "" : "≈ "}${microseconds(time_us)}`;
}

export class Pane {
  readonly id = `pane-${++paneCount}`;
  readonly root: HTMLElement;
  content: Content | null = null;
  /** Shows its text, if it has one. */
  code: Code | null = null;
  private readonly stageChooser = make("select", { class: "stage", "aria-label": "Stage" });
  private readonly fileChooser = make("select", { class: "file", "aria-label": "File" });
  private readonly callChooser = make("select", { class: "call", "aria-label": "Call site" });
  private readonly about = make("span", { class: "about" });
  private readonly closer: HTMLButtonElement;
  private readonly body = make("div", { class: "pane-body" });
  /** For a kernel pane. */
  readonly kernelMenu: KernelMenu;
  private view: PictureView | null = null;
  private shownAs = "";
  private headAs = "";
  private showing = 0;
  /** Whether the text to show has not arrived yet. */
  private isFetching = false;

  constructor(
    readonly address: PaneAddress,
    private readonly host: PaneHost,
  ) {
    this.closer = icon("×", "Close pane (x)", () => host.closed(this));
    const add = icon("+", "Add a pane (a)", () => host.added(this));
    const [compare, menu] = compareMenu(
      `${this.id}-compare`,
      () => host.comparable(this),
      () => host.compared(this),
    );
    this.kernelMenu = new KernelMenu(`${this.id}-kernel`, host);
    const head = make(
      "header",
      { class: "pane-head" },
      this.stageChooser,
      this.fileChooser,
      this.about,
      this.callChooser,
      this.kernelMenu.button,
      compare,
      add,
      this.closer,
      menu,
      this.kernelMenu.menu,
    );
    const attributes = { class: "pane", id: this.id, "data-stage": address.stage };
    this.root = make("section", attributes, head, this.body);
    for (const { id, title, files } of host.state.picture.stages) {
      const label = files.length ? title : `${title} (none)`;
      this.stageChooser.append(make("option", { value: id }, label));
    }
    this.listen();
  }

  private listen(): void {
    this.stageChooser.addEventListener("change", () => {
      this.host.chosen(this, this.stageChooser.value, null);
    });
    this.fileChooser.addEventListener("change", () => {
      this.host.chosen(this, this.address.stage, this.fileChooser.value);
    });
    this.callChooser.addEventListener("change", () => {
      const { value } = this.callChooser;
      this.host.handleChosen(value === "" ? null : Number(value));
    });
  }

  get stage(): Stage | null {
    return this.host.state.stageOf(this.address);
  }

  /** Whether the pane shows a kernel, as source or compiled. */
  private get isOfKernel(): boolean {
    return this.address.stage === "kernel" || isCompiled(this.address.stage);
  }

  /** Show the state. Returns null if it is already shown, otherwise a promise. */
  show(): Promise<void> | null {
    const { state } = this.host;
    const { kernel, handle } = state;
    const content = state.content(this.address);
    this.content = content;
    const as = JSON.stringify(content);
    const head = this.isOfKernel ? `${as}${kernel?.name}${handle}` : as;
    if (head !== this.headAs) this.renderHead(content, kernel, handle);
    this.headAs = head;
    if (as === this.shownAs) return null;
    this.shownAs = as;
    return this.fetched(content);
  }

  private async fetched(content: Content): Promise<void> {
    const turn = ++this.showing;
    this.isFetching = false;
    if (content.kind === "empty") {
      this.say(content.what, content.why);
      return;
    }
    const isCode = content.kind === "code";
    try {
      await (isCode ? this.written(content, turn) : this.drawn(content, turn));
    } catch (trouble) {
      if (turn !== this.showing) return;
      const what = `The ${isCode ? "text" : "graph"} could not be shown.`;
      this.failed(what, trouble, () => this.fetched(content));
    }
  }

  private async written(content: Content & { kind: "code" }, turn: number): Promise<void> {
    const { file, first, last, key } = content;
    const slow = setTimeout(() => this.say("Fetching the text …", file.path), 250);
    this.isFetching = true;
    try {
      const end = last === file.lines ? Infinity : last; // do not search a whole text for its end
      const text = await (file.kernel
        ? this.host.compiledText(key)
        : this.host.texts.part(file.artifact, first, end));
      if (turn !== this.showing) return;
      this.isFetching = false;
      this.place(text, content);
    } finally {
      clearTimeout(slow);
    }
  }

  private async drawn(content: Content & { kind: "picture" }, turn: number): Promise<void> {
    const { PictureView } = await loaded(import("../picture/drawing"));
    if (turn !== this.showing) return;
    this.empty();
    this.view = new PictureView(this.body, content.of, this.address, this.host);
    await this.view.load();
  }

  /** Clear what the pane shows. */
  private empty(): void {
    this.code?.close();
    this.code = null;
    this.view?.close();
    this.view = null;
  }

  private place(text: string, content: Content & { kind: "code" }): void {
    if (!this.code) {
      this.empty();
      this.body.replaceChildren();
      const events = {
        hovered: (line: number | null) => this.host.hovered(this, line),
        reached: (line: number) => this.host.hovered(this, line),
        clicked: (line: number, extend: boolean) => this.host.pin(this, line, extend),
        named: (name: string) => this.host.named(name),
      };
      this.code = new Code(this.body, events);
    }
    const timed = this.address.stage === "source" || this.isOfKernel;
    // Other derived texts are whole: a graph's own program, for instance.
    const rebuilt = content.file.derived && this.address.stage === "source";
    const errors = content.key === "code" ? this.host.errors : [];
    const tintOf = (line: number) => this.host.tints.of(content.key, line);
    const shown = { ...content, text, rebuilt, timed, tintOf, errors };
    const start = startOf(text, this.address.stage);
    this.code.show(shown, this.host.options, start > 0 ? content.first + start : null);
    if (timed) void this.warm();
  }

  /** Show the cost of the lines. */
  async warm(): Promise<void> {
    const { content, showing } = this;
    if (content?.kind !== "code") return;
    const heat = await this.host.warmthOf(content);
    if (showing === this.showing) this.code?.warm(heat);
  }

  private say(what: string, why: string, ...more: HTMLElement[]): void {
    this.empty();
    const words = [make("b", {}, what), make("p", {}, why), ...more];
    this.body.replaceChildren(make("div", { class: "pane-empty", tabindex: "0" }, ...words));
  }

  private failed(what: string, trouble: unknown, again: () => void): void {
    this.shownAs = "";
    const act = mayPass(trouble)
      ? button("Try again", {}, again)
      : button("Reload", {}, () => location.reload());
    this.say(what, sentenceOf(trouble), act);
  }

  private renderHead(content: Content, kernel: Kernel | null, handle: number | null): void {
    const stage = this.stage;
    this.root.dataset.stage = this.address.stage;
    this.root.setAttribute("aria-label", `${stage?.title ?? this.address.stage} pane`);
    this.stageChooser.value = this.address.stage;
    this.renderFiles(stage, content);
    this.renderCalls(kernel, handle);
    this.kernelMenu.button.hidden = this.address.stage !== "kernel" || !kernel;
    this.kernelMenu.begin();
    this.about.replaceChildren();
    if (this.isOfKernel && kernel) {
      this.about.append(kernelName(kernel));
      this.about.title = kernel.first === null ? "Its code is in a library: this is its call" : "";
    } else if (content.kind === "code" && this.fileChooser.hidden) {
      this.about.append(this.summary(content));
      this.about.title = content.file.path;
    }
  }

  private summary(content: Content & { kind: "code" }): string {
    const { graph } = this.host.state.picture;
    if (this.address.stage === POST_GRAD && graph.node_count) return `${graph.node_count} nodes`;
    if (this.address.stage !== "source") return "";
    return content.file.derived ? "rebuilt from stack comments" : content.file.path;
  }

  private renderFiles(stage: Stage | null, content: Content): void {
    const files = stage?.files ?? [];
    this.fileChooser.hidden = stage?.id !== "source" || files.length === 0;
    if (this.fileChooser.hidden) return;
    const options = files.map((file) => {
      const end = file.path.split("/").at(-1) ?? file.path;
      const alone = files.filter((each) => each.path.endsWith(`/${end}`)).length < 2;
      const name = alone ? end : file.path.split("/").slice(-2).join("/");
      const note = file.derived ? " (rebuilt)" : "";
      return make("option", { value: file.path, title: file.path }, name + note);
    });
    this.fileChooser.replaceChildren(...options);
    if (content.kind === "code") {
      this.fileChooser.value = content.file.path;
      this.fileChooser.title = content.file.derived
        ? `${content.file.path}: rebuilt from stack comments, so only lines that a graph names are here; their indentation is a guess`
        : content.file.path;
      this.address.file = content.file.path;
    }
  }

  private renderCalls(kernel: Kernel | null, handle: number | null): void {
    const calls = kernel?.calls ?? [];
    this.callChooser.hidden = !this.isOfKernel || calls.length < 2;
    if (this.callChooser.hidden) return;
    const options = calls.map((call, at) =>
      make(
        "option",
        { value: call.handle },
        `call ${at + 1} of ${calls.length}, line ${call.line}${timeOfCall(call)}`,
      ),
    );
    const all = make("option", { value: "" }, count(calls.length, "call"));
    this.callChooser.replaceChildren(all, ...options);
    this.callChooser.value = handle === null ? "" : String(handle);
  }

  /** Lines that the selection highlights. */
  get lit(): number {
    const { state } = this.host;
    return state.matchesIn(this.address, state.selected).lines.length;
  }

  canClose(can: boolean): void {
    this.closer.hidden = !can;
  }

  /** Highlight lines of a text and scroll to one; highlight nodes of a picture. */
  light(marks: Marks, aim: Aim | null): void {
    const { selected, hovered } = this.host.state;
    if (!this.isFetching) this.code?.mark(marks, aim); // these are lines of the next text
    this.view?.light(selected, hovered);
  }

  find(): void {
    this.code?.find();
    this.view?.find();
  }

  redraw(): void {
    this.code?.ruler.recolour();
    this.view?.recolour();
  }

  focus(): void {
    if (this.code) this.code.focus();
    else if (this.view) this.view.focus();
    else this.body.querySelector<HTMLElement>(".pane-empty")?.focus();
  }

  close(): void {
    this.showing++;
    this.empty();
    this.root.remove();
  }
}
