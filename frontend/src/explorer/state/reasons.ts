// Why a line is highlighted: the entity that it shares with the selection, how certain that is, and
// why. Pure.
import { naming } from "../../shared/naming";
import { IR_POST, IR_PRE } from "../../shared/vocabulary";
import { EXACT, INFERRED } from "./certainty";
import { EVERY_CALL, KNOWN, type LinkIndex, type Selected, within } from "./links";

/** Lines of one stage, as the explorer highlights them. */
export interface LitLine {
  stage: string;
  title: string;
  key: string;
  line: number;
}

export interface Reason extends LitLine {
  /** The entity that line and selection share. */
  entity: string;
  known: number;
  why: string[];
  /** Other entities that are equally certain: the line may belong to them instead. */
  others: string[];
}

const GRAPHS = naming("fx");
const BEFORE = naming("dynamo");

export function plain(entity: string): string {
  return entity.slice(entity.indexOf(":") + 1);
}

/** How certain a line's own reference to an entity is. */
function knownOf(index: LinkIndex, key: string, line: number, entity: string): number {
  return index.surest(key, index.entity(entity) ?? -1, line, line);
}

function grounds(
  index: LinkIndex,
  { key, line }: LitLine,
  entity: string,
  known: number,
): string[] {
  const name = plain(entity);
  if (entity.startsWith("op:")) return ["Both are this operation of a loop body."];
  if (key.startsWith("source:")) return [`The stack comment of ${name} names this line.`];
  if (GRAPHS.has(key)) return [`The line is ${name}, or the stack comment above it.`];
  if (BEFORE.has(key)) return [groundsBefore(name, known)];
  if (key !== "code") return groundsOfIr(index, key, line, name, known);
  if (entity.startsWith("call:")) return ["The line is this call."];
  if (entity.startsWith("kernel:")) return ["The line is of this kernel's definition."];
  if (entity.startsWith("buf:")) return [`The line names the buffer ${name}.`];
  return groundsOfCode(index, line, entity, known);
}

function groundsBefore(name: string, known: number): string {
  if (known === EXACT) return `Inductor recorded that ${name} came from this node (postToPre).`;
  if (known === INFERRED)
    return `Both quote the same line of yours, and agree in operation, parameter or iteration of the loop.`;
  return "Both quote the same line of yours; nothing says which of its nodes it was.";
}

function groundsOfIr(
  index: LinkIndex,
  key: string,
  line: number,
  name: string,
  known: number,
): string[] {
  const ops = index.namesAt(key, line, line, "op:").map(plain);
  const op = ops[0] ? `The operation ${ops[0]}` : "The scheduler node";
  if (known === EXACT) return [`${op} was recorded as ${name} when it was lowered.`];
  if (known === INFERRED)
    return [`${op} fits ${name}: same operation, same values read and written.`];
  return [`${op} is of a kernel that is known to compute ${name}.`];
}

function groundsOfCode(index: LinkIndex, line: number, entity: string, known: number): string[] {
  const name = plain(entity);
  const ops = index.namesAt("code", line, line, "op:");
  const stage = index.has(IR_POST) ? IR_POST : IR_PRE;
  const why: string[] = [];
  for (const op of ops.slice(0, 3)) {
    const at = index.linesOf(stage, op)[0];
    const of = at === undefined ? [] : index.namesAt(stage, at, at, "fx:");
    if (!of.includes(entity)) continue;
    const surely = KNOWN[knownOf(index, "code", line, op)];
    why.push(`The line is ${plain(op)} (${surely}), which belongs to ${name} (IR line ${at}).`);
  }
  if (why.length) return why;
  if (known === EXACT) return [`Recorded while the code was generated, or the line names ${name}.`];
  if (known === INFERRED)
    return [`The line's operation and its operands fit ${name} and no other node.`];
  return [`Provenance or comments say that this kernel computes ${name}; no line does for sure.`];
}

export function reasonOf(
  index: LinkIndex,
  selected: Selected,
  lit: LitLine,
  call: number = EVERY_CALL,
): Reason | null {
  const match = within(index.matches(selected, lit.key, call), lit.line, lit.line);
  const [known, at] = [match.known[0], match.entities[0]];
  if (known === undefined || at === undefined) return null;
  const entity = index.entities[at] as string;
  const why = grounds(index, lit, entity, known);
  const kind = entity.slice(0, entity.indexOf(":") + 1);
  // A line can certainly compute several nodes, and different ones in other calls of its kernel, so
  // only equally certain nodes of the same call are alternatives.
  const { key, line } = lit;
  const calls = index.callsAt(key, line, entity);
  const alike = index.namesAt(key, line, line, kind).filter((each) => {
    if (each === entity || knownOf(index, key, line, each) !== known) return false;
    return [...index.callsAt(key, line, each)].some((call) => calls.has(call));
  });
  const others = known === INFERRED && kind === "fx:" && key === "code" ? alike.map(plain) : [];
  return { ...lit, entity, known, why, others };
}
