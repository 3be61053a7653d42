// The explorer's state as a query string and back. Pure.

export interface PaneAddress {
  stage: string;
  /** Path of the shown file, for stages with several. */
  file: string | null;
}

/** A line of a stage, of a source also of which file when not the first pane's; or an entity. */
export type Target = { stage: string; line: number; file?: string } | { entity: string };

export interface Address {
  panes: PaneAddress[];
  /** Name of the kernel that kernel panes show. */
  kernel: string | null;
  /** Handle of one of its calls, null for all of them. */
  handle: number | null;
  selected: Target | null;
}

export const DEFAULT_PANES = ["source", "post_grad", "ir_post", "kernel"];

export function read(query: string, stages: readonly string[]): Address {
  const fields = new URLSearchParams(query);
  const files = fields.getAll("file");
  const named = (fields.get("panes") ?? "").split(",").filter((stage) => stages.includes(stage));
  const shown = named.length ? named : DEFAULT_PANES.filter((stage) => stages.includes(stage));
  const panes = shown.map((stage) => ({
    stage,
    file: stage === "source" ? (files.shift() ?? null) : null,
  }));
  const [kernel, handle] = readKernel(fields.get("kernel"));
  return { panes, kernel, handle, selected: readTarget(fields.get("sel"), stages) };
}

function readKernel(written: string | null): [string | null, number | null] {
  const parts = /^(.+?)(?::(\d+))?$/.exec(written ?? "");
  return parts ? [parts[1] ?? null, parts[2] ? Number(parts[2]) : null] : [null, null];
}

function readTarget(written: string | null, stages: readonly string[]): Target | null {
  if (!written) return null;
  const source = /^source:(.+):(\d+)$/.exec(written);
  if (source?.[1]) return { stage: "source", line: Number(source[2]), file: source[1] };
  const parts = /^([a-z_]+):(\d+)$/.exec(written);
  const stage = parts?.[1];
  if (parts && stage && stages.includes(stage)) return { stage, line: Number(parts[2]) };
  return { entity: written };
}

function named(target: Target): string {
  if ("entity" in target) return target.entity;
  const { stage, line, file } = target;
  return file ? `${stage}:${file}:${line}` : `${stage}:${line}`;
}

export function write(address: Address): string {
  const fields = new URLSearchParams();
  fields.set("panes", address.panes.map((pane) => pane.stage).join(","));
  for (const pane of address.panes) {
    if (pane.stage === "source" && pane.file) fields.append("file", pane.file);
  }
  if (address.kernel) {
    const { kernel, handle } = address;
    fields.set("kernel", handle === null ? kernel : `${kernel}:${handle}`);
  }
  const target = address.selected;
  if (target) fields.set("sel", named(target));
  // Commas, colons and slashes may stand in a query as they are, and read better.
  return `?${fields.toString().replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/")}`;
}
