// The list of kernels by time: a listbox with arrow keys.

import { bar, make, scrollWithin } from "../../shared/elements";
import { count, microseconds, share, spread } from "../../shared/figures";
import { categoryTitle, hueOf, kernelTitle } from "../../shared/naming";
import { instancesOf, kernelName } from "../kernels/name";
import type { Kernel } from "../shapes";
import { timesOfInstances } from "../state/follow";
import type { ViewHost } from "./host";

/** Kernels in one chunk of the list. The browser skips chunks that are not visible. */
const PIECE = 40;
/** Approximate height of a kernel in the list, in pixels. */
const HIGH = 36;

function kindOf(kernel: Kernel): string {
  return kernel.category && kernel.category !== "unk" ? kernel.category : kernel.kind;
}

/** The kinds and how many kernels each has, the most frequent first. */
function kindsOf(kernels: readonly Kernel[]): { kind: string; kernels: number }[] {
  return [...Map.groupBy(kernels, kindOf)]
    .map(([kind, own]) => ({ kind, kernels: own.length }))
    .sort((one, other) => other.kernels - one.kernels);
}

/** The tooltip of an entry. */
function aboutOf(kernel: Kernel): string {
  const kind = kernelTitle(kernel.kind, kernel.category);
  const about = [kernel.name, kind, count(kernel.calls.length, "call")];
  const times = timesOfInstances(kernel.calls);
  if (instancesOf(kernel) > 1) {
    const each = times.length ? `, ${spread(times)}` : "";
    about.push(`${instancesOf(kernel)} instances${each}`);
  }
  if (kernel.time_us !== null) {
    const part = kernel.share === null ? "" : `, ${share(kernel.share)} of this graph`;
    about.push(`${microseconds(kernel.time_us)} a step${part}`);
  }
  if (kernel.time_source) about.push(kernel.time_source);
  return about.join("\n");
}

/** `instance`: the chosen one of `count`; null for all of them. */
function figureOf(kernel: Kernel, instance: number | null = null, count = 0): string {
  const { share: part, time_us } = kernel;
  if (instance === null)
    return part !== null ? share(part) : time_us !== null ? microseconds(time_us) : "";
  const us = timesOfInstances(kernel.calls, count)[instance - 1];
  return us === undefined ? "—" : microseconds(us);
}

export class KernelList {
  private readonly list: HTMLElement;
  private readonly filter: HTMLInputElement;
  private readonly kinds: HTMLSelectElement;
  private readonly total: HTMLElement;
  private readonly kernels: readonly Kernel[];
  private readonly options = new Map<string, HTMLElement>();
  private readonly pieces: { element: HTMLElement; kernels: readonly Kernel[] }[] = [];
  private chosen: string | null = null;
  private matched: ReadonlySet<string> = new Set();
  private readonly instances: HTMLSelectElement;
  private instance: number | null = null;

  constructor(private readonly host: ViewHost) {
    const side = host.part(".side");
    const { state } = host;
    this.list = side.querySelector(".kernels") as HTMLElement;
    this.filter = side.querySelector(".filter") as HTMLInputElement;
    this.total = side.querySelector(".kernel-count") as HTMLElement;
    this.kernels = state.picture.kernels;
    const most = Math.max(0, ...this.kernels.map((kernel) => kernel.share ?? 0));
    this.fill(most);
    const heading = side.querySelector(".kernel-heading");
    if (heading && most === 0) heading.textContent = "Kernels";
    this.kinds = side.querySelector(".kinds") as HTMLSelectElement;
    for (const { kind, kernels } of kindsOf(this.kernels)) {
      this.kinds.append(make("option", { value: kind }, `${categoryTitle(kind)} (${kernels})`));
    }
    const { instances: times, picture } = state;
    this.instances = side.querySelector(".instances select") as HTMLSelectElement;
    (this.instances.parentElement as HTMLElement).hidden = times.length === 0;
    const known = times.flatMap((us) => us ?? []);
    const whole = known.reduce((sum, us) => sum + us, 0);
    const all = known.length ? `: ${microseconds(whole)}` : "";
    const single = times.map((us, at) => {
      const name = picture.instances[at]?.name ?? at + 1;
      return us === null ? `${name}` : `${name}: ${microseconds(us)}`;
    });
    for (const [at, words] of [`all ${times.length}${all}`, ...single].entries())
      this.instances.append(make("option", { value: String(at) }, words));
    this.instances.addEventListener("change", () =>
      host.instanceChosen(Number(this.instances.value) || null),
    );
    this.filter.addEventListener("input", () => this.narrow());
    this.kinds.addEventListener("change", () => this.narrow());
    this.list.addEventListener("keydown", (event) => this.pressed(event));
    this.narrow();
  }

  private fill(most: number): void {
    for (let at = 0; at < this.kernels.length; at += PIECE) {
      const kernels = this.kernels.slice(at, at + PIECE);
      const options = kernels.map((kernel, place) => this.optionOf(kernel, most, at + place));
      const element = make("div", { class: "piece", role: "presentation" }, ...options);
      this.pieces.push({ element, kernels });
      this.list.append(element);
    }
  }

  private optionOf(kernel: Kernel, most: number, at: number): HTMLElement {
    const name = kernelName(kernel);
    const instances = instancesOf(kernel);
    if (instances > 1)
      name.append(make("span", { class: "cut-tail soft" }, `\u2009× ${instances}`));
    const option = make(
      "li",
      {
        role: "option",
        id: `kernel-${at}`,
        "aria-selected": "false",
        "data-kernel": kernel.name,
        title: aboutOf(kernel),
      },
      name,
      make("span", { class: "time num" }, figureOf(kernel)),
      most > 0 ? bar((kernel.share ?? 0) / most, hueOf(kernel.category)) : null,
    );
    option.addEventListener("click", () => this.host.chooseKernel(kernel));
    this.options.set(kernel.name, option);
    return option;
  }

  private visible(): Kernel[] {
    return this.kernels.filter((kernel) => !this.options.get(kernel.name)?.hidden);
  }

  private isOfKind(kernel: Kernel): boolean {
    const kind = this.kinds.value;
    if (kind === "matched") return this.matched.has(kernel.name);
    return kind === "" || kindOf(kernel) === kind;
  }

  private narrow(): void {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (kernel: Kernel) => {
      const text = `${kernel.name} ${kernel.kind} ${kernel.category}`.toLowerCase();
      return this.isOfKind(kernel) && words.every((word) => text.includes(word));
    };
    for (const { element, kernels } of this.pieces) {
      let shown = 0;
      for (const kernel of kernels) {
        const option = this.options.get(kernel.name);
        if (option) option.hidden = !fits(kernel);
        if (option && !option.hidden) shown++;
      }
      element.hidden = shown === 0;
      element.style.containIntrinsicHeight = `${shown * HIGH}px`;
    }
    const shown = this.visible().length;
    const all = this.kernels.length;
    this.total.textContent = shown === all ? String(all) : `${shown} of ${all}`;
  }

  private pressed(event: KeyboardEvent): void {
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, Home: -1e9, End: 1e9 };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.step(step);
  }

  /** Choose the kernel this many places further on. */
  step(by: number): void {
    const shown = this.visible();
    const at = shown.findIndex((kernel) => kernel.name === this.chosen);
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next) this.host.chooseKernel(next);
  }

  show(kernel: Kernel | null, matched: ReadonlySet<string>): void {
    const before = { chosen: this.chosen, matched: this.matched };
    this.chosen = kernel?.name ?? null;
    this.matched = matched;
    if (this.kinds.value === "matched") this.narrow();
    for (const name of before.matched) {
      if (!matched.has(name)) this.options.get(name)?.classList.remove("matched");
    }
    for (const name of matched) this.options.get(name)?.classList.add("matched");
    if (before.chosen === this.chosen) return;
    this.options.get(before.chosen ?? "")?.setAttribute("aria-selected", "false");
    this.showChosen();
  }

  private showChosen(): void {
    const option = this.options.get(this.chosen ?? "");
    option?.setAttribute("aria-selected", "true");
    if (!option) return;
    scrollWithin(this.list, option);
    this.list.setAttribute("aria-activedescendant", option.id);
  }

  showInstance(instance: number | null): void {
    if (instance === this.instance) return;
    this.instance = instance;
    this.instances.value = String(instance ?? 0);
    for (const kernel of this.kernels) {
      const time = this.options.get(kernel.name)?.querySelector(".time");
      if (time) time.textContent = figureOf(kernel, instance, this.host.state.instances.length);
    }
  }

  focus(): void {
    this.list.focus();
  }

  focusFilter(): void {
    this.filter.focus();
    this.filter.select();
  }
}
