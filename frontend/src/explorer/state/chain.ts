// The chain of a selection: your line → Dynamo node → FX node → ops.* → kernel lines → call → time.
// Pure.

import { count, microseconds, share } from "../../shared/figures";
import { titleOf } from "../../shared/naming";
import { DYNAMO, IR_POST, IR_PRE, POST_GRAD, PRE_GRAD, READABLE } from "../../shared/vocabulary";
import { kernelTitle } from "../kernel-names";
import type { GraphPicture, Kernel, KernelCall } from "../shapes";
import { EXACT, INFERRED, KERNEL } from "./certainty";
import { computedAgain } from "./computed";
import {
  callEntity,
  callsOfKernel,
  isPart,
  kernelsOf,
  linesOfKernel,
  type Spent,
  spentIn,
} from "./follow";
import { EVERY_CALL, knownAt, type LinkIndex, type Matches, type Selected } from "./links";

export interface Link {
  label: string;
  /** The target of a click; null for plain text. */
  place: LinkPlace | null;
  known: number;
  /** How this is known, in words, if it differs from the rest. */
  how?: string;
  /** The text next to the label; null to show the text of the line. */
  note: string | null;
}

export interface LinkPlace {
  stage: string;
  /** Key of the text that contains the line. */
  key: string;
  line: number;
  file: string | null;
  kernel: Kernel | null;
  handle: number | null;
}

export interface Step {
  title: string;
  links: Link[];
  /** Number of links that are not listed. */
  more: number;
  /** Why there are no links. */
  missing: string;
}

export interface Chain {
  steps: Step[];
  /** Which nodes are recomputed, which the steps do not show. */
  words: string[];
}

/** Links that one step lists. */
const LISTED = 12;
/** Nodes of a selection that are looked at for recomputing. */
const MOST_NODES = 400;
const GRAPHS: [string, string, string][] = [
  [READABLE, titleOf(READABLE), "no line is linked"],
  [POST_GRAD, titleOf(POST_GRAD), "no node is linked"],
];
const HOW_DYNAMO = [
  "",
  "one of several nodes of the same line of yours",
  "of the same line of yours, and of the same operation, iteration or parameter",
  "recorded by Inductor",
];

function place(stage: string, key: string, line: number): LinkPlace {
  return { stage, key, line, file: null, kernel: null, handle: null };
}

function step(title: string, links: Link[], missing: string): Step {
  const more = Math.max(0, links.length - LISTED);
  return { title, links: links.slice(0, LISTED), more, missing };
}

function ofMatches(matches: Matches, make: (line: number) => [string, LinkPlace]): Link[] {
  return Array.from(matches.lines, (line, at) => {
    const [label, to] = make(line);
    return { label, place: to, known: matches.known[at] ?? 0, note: null };
  });
}

function sourceStep(index: LinkIndex, picture: GraphPicture, selected: Selected): Step {
  const files = picture.stages.find((stage) => stage.id === "source")?.files ?? [];
  const links = files.flatMap(({ path }) => {
    const key = `source:${path}`;
    const end = path.split("/").pop() ?? path;
    return ofMatches(index.matches(selected, key), (line) => [
      `${end}:${line}`,
      { ...place("source", key, line), file: path },
    ]);
  });
  return step("Your line", links, "no line of yours is recorded");
}

/** The nodes of a graph, by their own lines. `unnamed`: what to call a line that names none. */
function ofNodes(
  index: LinkIndex,
  selected: Selected,
  stage: string,
  kinds: readonly string[],
  unnamed: (line: number) => string | null = () => null,
): Link[] {
  const found = index.matches(selected, stage);
  const links = new Map<string, Link>();
  found.lines.forEach((line, at) => {
    const [name, ...others] = kinds.flatMap((kind) => index.namesAt(stage, line, line, kind));
    const label = name ? name.slice(name.indexOf(":") + 1) : unnamed(line);
    // A stack comment refers to all the nodes below it.
    if (others.length || label === null || links.has(label)) return;
    const own = name ? (index.linesOf(stage, name).at(-1) ?? line) : line;
    const known = found.known[at] ?? 0;
    links.set(label, { label, place: place(stage, stage, own), known, note: null });
  });
  return [...links.values()];
}

/** Dynamo's nodes have their own names, and each becomes several FX nodes. */
function dynamoStep(index: LinkIndex, picture: GraphPicture, selected: Selected): Step {
  const there = (stage: string) =>
    picture.stages.some((each) => each.id === stage && each.files.length > 0);
  const stage = there(DYNAMO) ? DYNAMO : PRE_GRAD;
  const isInput = (line: number) => index.namesAt(stage, line, line, "fx:").length > 0;
  const links = ofNodes(index, selected, stage, ["dyn:"], (line) =>
    isInput(line) ? "input" : null,
  );
  for (const link of links) link.how = HOW_DYNAMO[link.known] ?? "";
  const missing = there(stage) ? "none of its nodes is linked" : "needs a TORCH_TRACE log";
  return step("Dynamo", links, missing);
}

function opsStep(index: LinkIndex, selected: Selected): Step {
  const stage = index.has(IR_POST) ? IR_POST : IR_PRE;
  const links = ofMatches(index.matches(selected, stage), (line) => {
    const [entity] = index.namesAt(stage, line, line, "op:");
    const label = entity ? entity.slice("op:".length).replace(/\..*$/, "") : `line ${line}`;
    return [label, place(stage, stage, line)];
  });
  const missing = index.has(stage) ? "no loop body has it" : "no IR was uploaded";
  return step("ops.*", links, missing);
}

function kernelStep(index: LinkIndex, kernels: readonly Kernel[], code: Matches): Step {
  const links = kernels.flatMap((kernel) => {
    const own = linesOfKernel(code, kernel);
    const written = own.lines.filter((line) => index.namesAt("code", line, line, "op:").length > 0);
    // Comments and the definition name the node too; prefer lines that compute it.
    const meant = written.length ? written : own.lines;
    return Array.from(meant, (line) => ({
      label: String(line),
      place: { ...place("kernel", "code", line), kernel },
      known: knownAt(own, line),
      note: null,
    }));
  });
  const extern = kernels.length > 0 && kernels.every((kernel) => kernel.first === null);
  const missing = extern ? "its code is in a library" : "no line of a kernel is linked";
  const of = kernels.length ? ` in ${count(kernels.length, "kernel")}` : "";
  return step(`Kernel lines${of}`, links, missing);
}

/** A call computes the selection as certainly as its kernel's lines do in this call. */
function knownOfCall(
  index: LinkIndex,
  selected: Selected,
  kernel: Kernel,
  call: KernelCall,
): number {
  const code = index.matches(selected, "code", callEntity(index, kernel, call.handle));
  const { known } = linesOfKernel(code, kernel);
  return Math.max(knownAt(code, call.line), ...known, KERNEL);
}

function callStep(
  index: LinkIndex,
  selected: Selected,
  kernels: readonly Kernel[],
  code: Matches,
): Step {
  const limited = index.callsOf(selected, "code");
  const links = kernels.flatMap((kernel) => {
    const calls = callsOfKernel(index, limited, kernel, code);
    return calls.map((call) => ({
      label: String(call.line),
      place: { ...place("wrapper", "code", call.line), kernel, handle: call.handle },
      known: knownOfCall(index, selected, kernel, call),
      note: null,
    }));
  });
  return step("Wrapper calls", links, "no call is linked");
}

/** Its definition; for a library kernel, its first call. */
function placeOfKernel(kernel: Kernel): LinkPlace | null {
  const call = kernel.calls[0];
  if (kernel.first !== null) return { ...place("kernel", "code", kernel.first), kernel };
  return call ? { ...place("wrapper", "code", call.line), kernel } : null;
}

function timeStep(spent: readonly Spent[], { graph_time_us: graphTime }: GraphPicture): Step {
  const links = spent.map((one) => {
    const { kernel, us } = one;
    const of = graphTime ? `${share(us / graphTime)} · ` : "";
    const whole = `${one.calls.length} of ${kernel.calls.length} calls, ${microseconds(kernel.time_us ?? 0)} · `;
    return {
      label: `${one.estimated ? "≈ " : ""}${microseconds(us)}`,
      place: placeOfKernel(kernel),
      known: one.estimated ? INFERRED : EXACT,
      how: one.estimated
        ? "a share of the kernel's time, as if all its calls took equally long"
        : "the kernel's time, as the profiler measured it",
      note: `${of}${isPart(one) ? whole : ""}${kernelTitle(kernel)}`,
    };
  });
  return step("Time a step", links, "no profile names its kernels");
}

export function chainOf(index: LinkIndex, picture: GraphPicture, selected: Selected): Chain {
  const code = index.matches(selected, "code", EVERY_CALL);
  const kernels = kernelsOf(picture, code);
  const steps = [
    sourceStep(index, picture, selected),
    dynamoStep(index, picture, selected),
    ...GRAPHS.map(([stage, title, missing]) =>
      step(title, ofNodes(index, selected, stage, ["fx:", "rd:"]), missing),
    ),
    opsStep(index, selected),
    kernelStep(index, kernels, code),
    callStep(index, selected, kernels, code),
    timeStep(spentIn(index, selected, kernels, code), picture),
  ];
  const entities = [...selected.entities.keys()].map((entity) => index.entities[entity] as string);
  const nodes = entities.filter((entity) => entity.startsWith("fx:"));
  return { steps, words: computedAgain(index, picture.kernels, nodes.slice(0, MOST_NODES)) };
}
