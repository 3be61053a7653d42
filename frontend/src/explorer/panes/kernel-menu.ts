// Links of a kernel pane: the kernel's page with its figures, its test case, the roofline.
import { button, make } from "../../shared/elements";
import { percent } from "../../shared/figures";
import type { KernelFigures } from "../kernels/figures";
import type { Kernel } from "../shapes";
import type { ExplorerState } from "../state/state";
import { menuOf } from "./menu";

export interface KernelMenuHost {
  readonly state: ExplorerState;
  readonly figures: KernelFigures;
  readonly neighbours: { open(kernel: Kernel): Promise<void> };
}

const SIGN = "↗";
const TITLE = "More of this kernel";

function link(href: string, label: string, download = false): HTMLElement {
  return make("a", { class: "menu-entry", href, download }, label);
}

export class KernelMenu {
  readonly button: HTMLButtonElement;
  readonly menu: HTMLElement;

  constructor(
    id: string,
    private readonly host: KernelMenuHost,
  ) {
    const words = { sign: SIGN, title: TITLE };
    [this.button, this.menu] = menuOf(id, words, () => this.entries());
  }

  /** Another kernel or call is shown. */
  begin(): void {
    this.button.replaceChildren(SIGN);
    this.button.title = TITLE;
    this.button.setAttribute("aria-label", TITLE);
  }

  /** Show how close the kernel comes to the machine's limits, once that is known. */
  async show(): Promise<void> {
    const { state, figures } = this.host;
    const { kernel, handle } = state;
    const found = kernel && (await figures.of(kernel, handle));
    if (state.kernel !== kernel || !found) return;
    const part = percent(found.share);
    const of = make("span", { class: "figure-of" }, " of roof");
    this.button.replaceChildren(make("span", { class: "figure" }, part, of, " "), SIGN);
    this.button.title = `${found.words}. ${TITLE}`;
    this.button.setAttribute("aria-label", `${part} of roof ${SIGN} ${TITLE}`);
  }

  private entries(): HTMLElement[] {
    const { state, figures } = this.host;
    const { kernel, handle, picture } = state;
    if (!kernel) return [make("p", { class: "soft" }, "No kernel is shown.")];
    const page = figures.pageOf(kernel, handle);
    const { id } = picture.run;
    const line = make("p", { class: "soft" }, kernel.name);
    void figures.of(kernel, handle).then((found) => {
      if (found) line.textContent = `${found.words}.`;
    });
    const asks = kernel.kind.startsWith("cpp")
      ? "Why is it not fused, or a loop not vectorised?"
      : "Why is it not fused with its neighbours?";
    const why = button(asks, { class: "menu-entry" }, () => {
      this.menu.hidePopover();
      void this.host.neighbours.open(kernel);
    });
    return [
      line,
      link(page, "The kernel's page: figures, calls, nodes"),
      link(`/api${page}/case.py`, "Download its test case", true),
      link(`${page}#alone`, "Benchmark it"),
      link(`/runs/${id}/roofline`, "All kernels against the roofline"),
      why,
    ];
  }
}
