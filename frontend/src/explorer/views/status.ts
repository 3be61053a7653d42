// The status line: the selection, how it is known, and its cost.

import { make } from "../../shared/elements";
import { count, microseconds, share, spread } from "../../shared/figures";
import { certainty } from "../../shared/naming";
import { instancesOf } from "../kernels/name";
import { isPart, type Spent, spentIn, timesOfInstances } from "../state/follow";
import type { Selected } from "../state/links";
import type { ExplorerState } from "../state/state";
import { type Certainty, ofSelection, placeName } from "../state/summary";

function chipOf(known: Certainty | null): Node[] {
  if (!known) return [];
  const [least, best] = [certainty(known.least), certainty(known.best)];
  if (!least || !best) return [];
  const label = least === best ? best.title : `${best.title}, partly ${least.title}`;
  const title = `${least.meaning}. Click, or e: how is this known?`;
  return [make("button", { type: "button", class: `chip how ${least.tone}`, title }, label)];
}

function timeOf(spent: readonly Spent[], state: ExplorerState): Node[] {
  if (!spent.length) return [];
  const { instance, instances, picture } = state;
  const calls = spent.flatMap((one) => one.calls);
  const each = timesOfInstances(calls, instances.length);
  const chosen = each[(instance ?? 0) - 1];
  const total = chosen ?? spent.reduce((sum, { us }) => sum + us, 0);
  const inPart = spent.filter(isPart);
  const estimated = spent.some((one) => one.estimated);
  const parts: (Node | string)[] = [
    make("b", {}, `${estimated ? "≈ " : ""}${microseconds(total)}`),
    chosen === undefined ? " a step" : ` in instance ${instance} of ${each.length}`,
  ];
  const ofOne = picture.instances.length && chosen !== undefined;
  const whole = ofOne ? instances[(instance ?? 0) - 1] : picture.graph_time_us;
  if (whole) parts.push(` · ${share(total / whole)} of this graph`);
  const [times, ...others] = new Set(spent.map(({ kernel }) => instancesOf(kernel)));
  if (chosen === undefined && times && times > 1 && !others.length) {
    const average = `${microseconds(total / times)} each on average`;
    parts.push(` · ${times} instances, ${each.length ? spread(each) : average}`);
  }
  const [one] = inPart;
  if (one && spent.length === 1)
    parts.push(` · ${one.calls.length} of ${one.kernel.calls.length} calls`);
  const title = [
    "Time of the kernels that compute the selection, including everything else that they compute.",
    ...inPart.map(
      ({ kernel, calls, estimated }) =>
        `${calls.length} of ${kernel.calls.length} calls of ${kernel.name}, which takes ` +
        `${microseconds(kernel.time_us ?? 0)}: ` +
        (estimated
          ? "counted as if all its calls took equally long."
          : "each call has its own time."),
    ),
  ];
  const span = make("span", { title: title.slice(0, 12).join("\n") });
  span.append(...parts);
  return [span];
}

export class StatusLine {
  constructor(
    private readonly root: HTMLElement,
    private readonly state: ExplorerState,
    private readonly elsewhere: (selected: Selected) => HTMLElement | null,
  ) {}

  /** Describe what is pointed at, or else the selection. */
  show(): void {
    const { hovered, selected, trouble } = this.state;
    const shown = hovered ?? selected;
    if (shown) this.root.replaceChildren(...this.partsOf(shown));
    else this.say(trouble ?? "Point at a line to see what it became. Click or Enter keeps it.");
  }

  /** Show a sentence until other lines are highlighted; null shows the selection. */
  sayOnce(sentence: string | null): void {
    if (sentence === null) this.show();
    else this.say(sentence);
  }

  private say(sentence: string): void {
    this.root.replaceChildren(make("span", {}, sentence));
  }

  private partsOf(selected: Selected): Node[] {
    const { index, picture, stop, hovered } = this.state;
    const words =
      selected === hovered
        ? "What the pointer is on. Click or Enter keeps it."
        : "Kept until you select another line or press Esc.";
    const parts: Node[] = [
      make("span", { class: "state", title: words }, selected === hovered ? "Preview" : "Kept"),
    ];
    const place = selected.origin ? placeName(picture, selected.origin) : null;
    const isSource = selected.origin?.key.startsWith("source:") ?? false;
    const names = index.namesOf(selected);
    const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
    // The user's line says more than the names of its nodes.
    const what = isSource ? place : names.slice(0, 3).join(", ") + more;
    if (what) {
      const title = names.slice(0, 60).join("\n");
      parts.push(make("b", { class: "entities elided", title }, what));
    }
    if (place && !isSource) parts.push(make("span", {}, `from ${place}`));
    const kernels = this.state.kernelsOf(selected);
    const matches = this.state.countMatches(selected, kernels);
    const match = stop && selected === this.state.selected ? stop.place : null;
    const linked = [
      match ? `match ${match.at} of ${match.of}` : matches && count(matches, "match", "matches"),
      kernels.length && count(kernels.length, "kernel"),
    ].filter(Boolean);
    parts.push(make("span", {}, linked.join(" in ") || "nothing is linked to this line"));
    if (matches) parts.push(...chipOf(ofSelection(index, selected)));
    const code = index.matches(selected, "code");
    parts.push(...timeOf(spentIn(index, selected, kernels, code), this.state));
    const elsewhere = this.elsewhere(selected);
    return elsewhere ? [...parts, elsewhere] : parts;
  }
}
