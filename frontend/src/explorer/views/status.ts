// The status line: the selection, how it is known, and its cost.

import { make } from "../../shared/elements";
import { count, microseconds, share, spread } from "../../shared/figures";
import { certainty } from "../../shared/naming";
import { instancesOf } from "../kernels/name";
import { isPart, type Spent, spentIn, timesOfInstances } from "../state/follow";
import type { Selected } from "../state/links";
import type { ExplorerState } from "../state/state";
import { type Certainty, ofSelection, placeName } from "../state/summary";

interface Facts {
  names: string[];
  /** The user's line that is selected, which says more than the names of its nodes. */
  line: string | null;
  from: string | null;
  /** Number of lines that n and p step through. */
  matches: number;
  /** Kernels that compute it. */
  kernels: number;
  /** The selection's part of their time. */
  spent: Spent[];
  certainty: Certainty | null;
  match: { at: number; of: number } | null;
  preview: boolean;
  /** The cost in other graphs. */
  elsewhere: HTMLElement | null;
}

function chipOf(facts: Facts): Node[] {
  if (!facts.matches || !facts.certainty) return [];
  const [least, best] = [certainty(facts.certainty.least), certainty(facts.certainty.best)];
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

function partsOf(facts: Facts, state: ExplorerState): Node[] {
  const words = facts.preview
    ? "What the pointer is on. Click or Enter keeps it."
    : "Kept until you select another line or press Esc.";
  const parts: Node[] = [
    make("span", { class: "state", title: words }, facts.preview ? "Preview" : "Kept"),
  ];
  const named = facts.names.slice(0, 3).join(", ");
  const more = facts.names.length > 3 ? ` and ${facts.names.length - 3} more` : "";
  const what = facts.line ?? named + more;
  if (what) {
    const title = facts.names.slice(0, 60).join("\n");
    parts.push(make("b", { class: "entities", title }, what));
  }
  if (facts.from) parts.push(make("span", {}, facts.from));
  const { matches, match, kernels } = facts;
  const linked = [
    match ? `match ${match.at} of ${match.of}` : matches ? count(matches, "match", "matches") : "",
    kernels ? count(kernels, "kernel") : "",
  ].filter(Boolean);
  parts.push(make("span", {}, linked.join(" in ") || "nothing is linked to this line"));
  parts.push(...chipOf(facts), ...timeOf(facts.spent, state));
  if (facts.elsewhere) parts.push(facts.elsewhere);
  return parts;
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
    if (shown) this.root.replaceChildren(...partsOf(this.facts(shown), this.state));
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

  private facts(selected: Selected): Facts {
    const { state } = this;
    const { index, picture, stop } = state;
    const kernels = state.kernelsOf(selected);
    const code = index.matches(selected, "code");
    const place = selected.origin ? placeName(picture, selected.origin) : null;
    const isSource = selected.origin?.key.startsWith("source:") ?? false;
    return {
      certainty: ofSelection(index, selected),
      names: index.namesOf(selected),
      line: isSource ? place : null,
      from: place && !isSource ? `from ${place}` : null,
      matches: state.countMatches(selected, kernels),
      kernels: kernels.length,
      spent: spentIn(index, selected, kernels, code),
      match: stop && selected === state.selected ? stop.place : null,
      preview: selected === state.hovered,
      elsewhere: this.elsewhere(selected),
    };
  }
}
