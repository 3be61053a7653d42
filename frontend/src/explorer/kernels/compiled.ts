// The compiled texts of a kernel, each fetched once, and the links of their lines, which are those
// of the kernel's lines that they come from.
import type { MachineText } from "../../shared/api";
import { count as counted, share } from "../../shared/figures";
import { once } from "../../shared/once";
import { ask } from "../../shared/server";
import { AMDGCN, ASSEMBLY, SASS } from "../../shared/vocabulary";
import type { Warm, WarmthOf } from "../code/heat";
import type { Columns } from "../shapes";
import { INFERRED } from "../state/certainty";
import { compiledKey } from "../state/content";
import type { LinkIndex } from "../state/links";

const MACHINE_CODE: readonly string[] = [SASS, AMDGCN, ASSEMBLY];
/** Most registers of a thread. */
const MOST_REGISTERS = 255;

interface Reference {
  entity: number;
  known: number;
  call: number;
}

export class Compiled {
  readonly of = once(async (key: string): Promise<MachineText> => {
    const [stage = "", ...kernel] = key.split(":");
    const query = new URLSearchParams({ kernel: kernel.join(":"), stage });
    return this.add(key, await ask<MachineText>(`${this.url}?${query}`));
  });
  /** Warmth of a text's lines and, for machine code, of the kernel's lines that they come from. */
  private readonly warmths = new Map<string, WarmthOf>();

  constructor(
    private readonly url: string,
    private readonly index: LinkIndex,
  ) {}

  has(key: string): boolean {
    return this.warmths.has(key);
  }

  warmth(key: string): WarmthOf {
    return this.warmths.get(key) ?? (() => null);
  }

  /** Instructions of a kernel's lines, once its machine code is loaded. */
  warmthOfKernel(kernel: string): WarmthOf | null {
    return (
      MACHINE_CODE.map((stage) => this.warmths.get(`of ${compiledKey(stage, kernel)}`)).find(
        Boolean,
      ) ?? null
    );
  }

  private add(key: string, text: MachineText): MachineText {
    this.index.add(key, columnsOf(text, this.index));
    const spills = new Set(text.spills);
    const sampled = text.samples.reduce((sum, each) => sum + each, 0);
    this.warmths.set(key, (line) => warmOfLine(text, spills, sampled, line));
    if (MACHINE_CODE.includes(text.stage))
      this.warmths.set(`of ${key}`, warmthOfLines(text, spills, sampled));
    return text;
  }
}

/** Each line has the references of its kernel lines. A line without nodes, such as an index or a
 * mask, refers to the nodes of the lines that need it. */
function columnsOf({ at, places, serves }: MachineText, index: LinkIndex): Columns {
  const isNode = ({ entity }: Reference) => /^(?:fx|src):/.test(index.entities[entity] ?? "");
  const ofPlaces = places.map(({ lines }) => {
    const several = lines.length > 1;
    return lines.flatMap((line) => {
      const own = index.referencesAt("code", line);
      const needed = own.some(isNode) ? [] : (serves[line] ?? []);
      const guessed = needed.flatMap((each) => index.referencesAt("code", each).filter(isNode));
      return [...own, ...guessed].map((each, position) => {
        const isSure = !several && position < own.length;
        return isSure ? each : { ...each, known: Math.min(each.known, INFERRED) };
      });
    });
  });
  const columns: Columns = { lines: [], entities: [], confidence: [], call: [] };
  at.forEach((place, position) => {
    for (const { entity, known, call } of ofPlaces[place] ?? []) {
      columns.lines.push(position + 1);
      columns.entities.push(entity);
      columns.confidence.push(known);
      columns.call.push(call);
    }
  });
  return columns;
}

function warmOfLine(
  { at, places, live, samples, stalls }: MachineText,
  spilled: ReadonlySet<number>,
  sampled: number,
  line: number,
): Warm | null {
  const place = places[at[line - 1] ?? -1];
  if (!place) return null;
  const [own, ...around] = place.frames;
  const where = `From ${own}${around.map((frame) => `, inlined at ${frame}`).join("")}.`;
  const count = live[line - 1] ?? 0;
  const spills = spilled.has(line - 1);
  const registers = count ? ` ${count} live registers.` : "";
  const words = `${where}${registers}${spills ? " It moves a register to memory or back." : ""}`;
  const why = stalls[line - 1];
  if (sampled > 0) {
    const part = (samples[line - 1] ?? 0) / sampled;
    return { share: part, words: why ? `${words} ${share(part)} of the samples: ${why}.` : words };
  }
  return { share: spills ? 1 : count / MOST_REGISTERS, words };
}

/** Samples or instructions, the peak of live registers, and spills of each line of the kernel. */
function warmthOfLines(
  { at, places, live, instructions, samples }: MachineText,
  spilled: ReadonlySet<number>,
  sampled: number,
): WarmthOf {
  const totals = new Map<
    number,
    { count: number; live: number; spills: number; samples: number }
  >();
  at.forEach((place, position) => {
    const line = places[place]?.lines.at(-1);
    if (line === undefined) return;
    const total = totals.get(line) ?? { count: 0, live: 0, spills: 0, samples: 0 };
    total.count += 1;
    total.live = Math.max(total.live, live[position] ?? 0);
    total.spills += spilled.has(position) ? 1 : 0;
    total.samples += samples[position] ?? 0;
    totals.set(line, total);
  });
  return (line) => {
    const total = totals.get(line);
    if (!total) return null;
    const spills = total.spills ? `, ${total.spills} of them move registers to memory or back` : "";
    const words = `${total.count} of ${instructions} instructions${spills}${total.live ? `; up to ${total.live} live registers` : ""}.`;
    if (sampled === 0) return { share: total.count / Math.max(1, instructions), words };
    const part = total.samples / sampled;
    const found = `${counted(total.samples, "sample")}, ${share(part)} of the kernel's`;
    return { share: part, words: `${found}; ${words}` };
  };
}
