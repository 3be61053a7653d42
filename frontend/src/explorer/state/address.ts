// Converts the explorer's state to a query string and back. Pure.
import { OPENED, POST_GRAD } from "../../shared/vocabulary";

export interface PaneAddress {
  stage: string;
  /** Path of the shown file, for stages with several. */
  file: string | null;
  /** Steps around the selection that a picture shows; 0 for the whole graph. */
  hops: number;
  /** Width in per cent of an equal share, once it was changed. */
  width?: number | undefined;
  /** The line in the middle, in a shared link. */
  middle?: number | undefined;
}

/** Lines `line` to `last` of a stage; a single one without `last`. */
export interface LineTarget {
  stage: string;
  line: number;
  last?: number;
  /** Path of a source, if it is not the first pane's. */
  file?: string;
}

export type Target = LineTarget | { entity: string };

export interface Address {
  panes: PaneAddress[];
  /** Name of the kernel that kernel panes show. */
  kernel: string | null;
  /** Handle of one of its calls; null for all of them. */
  handle: number | null;
  selected: Target | null;
  /** Which of a region's instances times are of, from 1; null for their sum. */
  instance: number | null;
  /** Which pane, from 0, is compared with the one to its right. */
  compared: number | null;
}

/** If a graph's compile ended before lowering, its existing graphs are shown instead. */
function standard(stages: readonly string[], held: readonly string[]): string[] {
  const panes = OPENED.filter((stage) => stages.includes(stage));
  if (held.includes(POST_GRAD) || held.includes("code")) return panes;
  const earlier = stages.slice(0, stages.indexOf(POST_GRAD));
  const graphs = earlier.filter((stage) => held.includes(stage) && !panes.includes(stage));
  const missing = panes.filter((stage) => stage !== "source" && !held.includes(stage));
  const instead = graphs.slice(-missing.length);
  return panes.map((stage) => (missing.includes(stage) ? (instead.shift() ?? stage) : stage));
}

/** `held`: the stages that the graph has texts of. `remembered`: what `arrangement` returned last. */
export function read(
  query: string,
  stages: readonly string[],
  held: readonly string[] = stages,
  remembered = "",
): Address {
  const fields = new URLSearchParams(query);
  const isNamed = fields.has("panes");
  const arranged = isNamed ? fields : new URLSearchParams(remembered);
  const files = fields.getAll("file");
  const hops = fields.getAll("around");
  const listed = (arranged.get("panes") ?? "").split(",");
  const named = listed.filter((stage) => (isNamed ? stages : held).includes(stage));
  const shown = named.length ? named : standard(stages, held);
  const numbers = (name: string) => {
    const values = (arranged.get(name) ?? "").split(",").map(Number);
    return values.length === shown.length ? values : [];
  };
  const [widths, middles] = [numbers("width"), numbers("middle")];
  const panes = shown.map((stage, at) => ({
    stage,
    file: stage === "source" ? (files.shift() ?? null) : null,
    hops: stage.startsWith("picture") ? Number(/^[0-3]$/.exec(hops.shift() ?? "")) : 0,
    width: widths[at] || undefined,
    middle: middles[at] || undefined,
  }));
  const [kernel, handle] = readKernel(fields.get("kernel"));
  const compared = /^[1-9]\d?$/.test(fields.get("compare") ?? "") ? fields.get("compare") : null;
  return {
    panes,
    kernel,
    handle,
    selected: readTarget(fields.get("sel"), stages),
    instance: Number(/^[1-9]\d{0,3}$/.exec(fields.get("instance") ?? "")) || null,
    compared: compared === null ? null : Number(compared) - 1,
  };
}

function readKernel(written: string | null): [string | null, number | null] {
  const parts = /^(.+?)(?::(\d+))?$/.exec(written ?? "");
  return parts ? [parts[1] ?? null, parts[2] ? Number(parts[2]) : null] : [null, null];
}

function readTarget(written: string | null, stages: readonly string[]): Target | null {
  if (!written) return null;
  // A source line as a place, or as the entity that every node from it refers to: both give the
  // same lines.
  const source = /^(?:source|src):(.+):(\d+)(?:-(\d+))?$/.exec(written);
  if (source?.[1]) return { stage: "source", file: source[1], ...lines(source[2], source[3]) };
  const parts = /^([a-z_]+):(\d+)(?:-(\d+))?$/.exec(written);
  const stage = parts?.[1];
  if (parts && stage && stages.includes(stage)) return { stage, ...lines(parts[2], parts[3]) };
  return { entity: written };
}

function lines(first: string | undefined, last: string | undefined) {
  const [from, to] = [Number(first), Number(last ?? first)];
  return to > from ? { line: from, last: to } : { line: from };
}

function named(target: Target): string {
  if ("entity" in target) return target.entity;
  const { stage, line, last, file } = target;
  const where = last ? `${line}-${last}` : `${line}`;
  return file ? `${stage}:${file}:${where}` : `${stage}:${where}`;
}

/** The fields for the stages of panes, their widths, and the lines in their middle. */
export function arrangement(panes: readonly PaneAddress[]): URLSearchParams {
  const fields = new URLSearchParams({ panes: panes.map((pane) => pane.stage).join(",") });
  for (const name of ["width", "middle"] as const) {
    const numbers = panes.map((pane) => Math.round(pane[name] ?? 0) || "");
    if (numbers.some((number) => number)) fields.set(name, numbers.join(","));
  }
  return fields;
}

export function write(address: Address): string {
  const fields = arrangement(address.panes);
  for (const pane of address.panes) {
    if (pane.stage === "source" && pane.file) fields.append("file", pane.file);
  }
  const pictures = address.panes.filter((pane) => pane.stage.startsWith("picture"));
  if (pictures.some((pane) => pane.hops > 0)) {
    for (const pane of pictures) fields.append("around", String(pane.hops));
  }
  if (address.kernel) {
    const { kernel, handle } = address;
    fields.set("kernel", handle === null ? kernel : `${kernel}:${handle}`);
  }
  if (address.instance !== null) fields.set("instance", String(address.instance));
  if (address.compared !== null) fields.set("compare", String(address.compared + 1));
  const target = address.selected;
  if (target) fields.set("sel", named(target));
  // Commas, colons and slashes are allowed in a query, and more readable unescaped.
  return `?${fields.toString().replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/")}`;
}
