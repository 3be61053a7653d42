// Which lines are linked: the links as an index, a selection as entities, matches as lines. Pure:
// no document, no network.
import { firstOf } from "../../shared/sorted";
import { CERTAINTIES } from "../../shared/vocabulary";
import type { Columns, Links, Stage } from "../shapes";
import { EXACT, ofLink, ofReference } from "./certainty";

/** How a reference is known; higher is more certain. */
export const KNOWN = ["unknown", ...CERTAINTIES.map(({ id }) => id)];

export interface Range {
  first: number;
  last: number;
}

export interface Place extends Range {
  key: string;
}

export interface Selected {
  /** Entity → how certain the selected line's reference to it is. */
  entities: Map<number, number>;
  origin: Place | null;
  /** A kernel as a whole: only its definition and its calls are highlighted, not each of its
   * lines. */
  wholeKernel?: boolean;
}

export interface Matches {
  lines: Int32Array;
  /** How certain the link of each line is. */
  known: Uint8Array;
  /** The entity of each line's most certain link. */
  entities: Int32Array;
}

export const NO_MATCHES: Matches = {
  lines: new Int32Array(0),
  known: new Uint8Array(0),
  entities: new Int32Array(0),
};

/** Kinds of entities from the most specific. Lines are matched by the most specific kind that they
 * share. */
const TIERS: Record<string, number> = {
  op: 0,
  fx: 1,
  rd: 1,
  dyn: 1,
  src: 2,
  call: 3,
  kernel: 3,
  buf: 3,
};
const TIER_COUNT = 4;

function tierOf(entity: string): number {
  return TIERS[entity.slice(0, entity.indexOf(":"))] ?? TIER_COUNT - 1;
}

/** A call to which references to a shared kernel's lines are limited; -1 for every call. */
export const EVERY_CALL = -1;

/** One stage's references, found by line (the columns are sorted) or by entity (indexed on
 * demand). */
class StageIndex {
  private byEntity: Map<number, number[]> | null = null;

  constructor(readonly columns: Columns) {}

  /** Positions of the references of some lines. */
  ofLines(first: number, last: number): [number, number] {
    const { lines } = this.columns;
    return [lowerBound(lines, first), lowerBound(lines, last + 1)];
  }

  ofEntity(entity: number): readonly number[] {
    this.byEntity ??= this.indexed();
    return this.byEntity.get(entity) ?? [];
  }

  private indexed(): Map<number, number[]> {
    const byEntity = new Map<number, number[]>();
    const { entities } = this.columns;
    for (let at = 0; at < entities.length; at++) {
      const key = entities[at] as number;
      const found = byEntity.get(key);
      if (found) found.push(at);
      else byEntity.set(key, [at]);
    }
    return byEntity;
  }

  holdsForCall(at: number, call: number): boolean {
    const limited = this.columns.call[at] ?? EVERY_CALL;
    return call === EVERY_CALL || limited === EVERY_CALL || limited === call;
  }
}

function lowerBound(sorted: ArrayLike<number>, wanted: number): number {
  return firstOf(0, sorted.length, (at) => (sorted[at] as number) >= wanted);
}

/** The links without those that were made for another text than the one that a stage shows. */
export function linksOfShown(links: Links, shown: readonly Stage[]): Links {
  const digests = new Map(shown.map(({ id, files }) => [id, files[0]?.digest]));
  const current = ([stage, { digest }]: [string, Columns]) =>
    !digest || digest === (digests.get(stage) ?? digest);
  return { ...links, stages: Object.fromEntries(Object.entries(links.stages).filter(current)) };
}

export class LinkIndex {
  private readonly stages: Map<string, StageIndex>;
  /** Tier of each entity. */
  private readonly tiers: Uint8Array;
  private names: Map<string, number> | null = null;
  private worked = new WeakMap<Selected, Map<string, Matches>>();

  constructor(private readonly links: Links) {
    this.stages = new Map(
      Object.entries(links.stages).map(([key, columns]) => [key, new StageIndex(columns)]),
    );
    this.tiers = Uint8Array.from(links.entities, tierOf);
  }

  /** Add the references of a text that was loaded later. */
  add(key: string, columns: Columns): void {
    this.stages.set(key, new StageIndex(columns));
    this.worked = new WeakMap();
  }

  /** The references of a line. */
  referencesAt(key: string, line: number): { entity: number; known: number; call: number }[] {
    const stage = this.stages.get(key);
    if (!stage) return [];
    const [from, to] = stage.ofLines(line, line);
    const { entities, confidence, call } = stage.columns;
    return Array.from({ length: to - from }, (_, at) => ({
      entity: entities[from + at] as number,
      known: confidence[from + at] ?? 0,
      call: call[from + at] ?? EVERY_CALL,
    }));
  }

  get entities(): readonly string[] {
    return this.links.entities;
  }

  /** Keys of all stages and sources. */
  keys(): Iterable<string> {
    return this.stages.keys();
  }

  has(key: string): boolean {
    return (this.stages.get(key)?.columns.lines.length ?? 0) > 0;
  }

  entity(name: string): number | null {
    if (!this.names) {
      this.names = new Map(this.entities.map((entity, at) => [entity, at]));
    }
    return this.names.get(name) ?? null;
  }

  /** The key of a stage or source; a source may be given by the end of its path. */
  keyNamed(key: string): string {
    if (this.stages.has(key) || !key.startsWith("source:")) return key;
    const end = `/${key.slice("source:".length)}`;
    return [...this.stages.keys()].find((each) => each.endsWith(end)) ?? key;
  }

  /** Everything that lines `first` to `last` refer to. */
  selectLine(
    key: string,
    first: number,
    call: number = EVERY_CALL,
    last: number = first,
  ): Selected {
    const entities = new Map<number, number>();
    const stage = this.stages.get(key);
    if (stage) {
      const [from, to] = stage.ofLines(first, last);
      for (let at = from; at < to; at++) {
        if (!stage.holdsForCall(at, call)) continue;
        const entity = stage.columns.entities[at] as number;
        const name = this.entities[entity] as string;
        const known = ofReference(name, stage.columns.confidence[at] ?? 0);
        entities.set(entity, Math.max(known, entities.get(entity) ?? 0));
      }
    }
    return { entities, origin: { key, first, last } };
  }

  selectEntity(name: string): Selected | null {
    const entity = this.entity(name);
    return entity === null ? null : { entities: new Map([[entity, EXACT]]), origin: null };
  }

  /** Lines of one stage that share an entity with the selection, of the most specific kind that
   * both have. Panes, status line, chain and walk all ask for this, so the result for each
   * selection is cached. */
  matches(selected: Selected, key: string, call: number = EVERY_CALL): Matches {
    const known = this.worked.get(selected) ?? new Map<string, Matches>();
    this.worked.set(selected, known);
    const name = `${call} ${key}`;
    const matches = known.get(name) ?? this.work(selected, key, call);
    known.set(name, matches);
    return matches;
  }

  private work(selected: Selected, key: string, call: number): Matches {
    const stage = this.stages.get(key);
    if (!stage) return NO_MATCHES;
    const finest = selected.wholeKernel && key === "code" ? TIER_COUNT - 1 : 0;
    for (let tier = finest; tier < TIER_COUNT; tier++) {
      const found = this.matchesOfTier(selected, stage, call, tier);
      if (found.size) return packed(found);
    }
    return NO_MATCHES;
  }

  private matchesOfTier(selected: Selected, stage: StageIndex, call: number, tier: number) {
    const found = new Map<number, Match>();
    for (const [entity, surely] of selected.entities) {
      if (this.tiers[entity] !== tier) continue;
      for (const at of stage.ofEntity(entity)) {
        if (!stage.holdsForCall(at, call)) continue;
        const line = stage.columns.lines[at] as number;
        const known = ofLink(surely, stage.columns.confidence[at] ?? 0);
        if (known > (found.get(line)?.known ?? 0)) found.set(line, { known, entity });
      }
    }
    return found;
  }

  /** How certain the most certain reference of a stage's lines to an entity is; 0 if there is none.
   * `from`, `to` and `call` restrict it to some lines and to one call. */
  surest(key: string, entity: number, from = 0, to = Infinity, call: number = EVERY_CALL): number {
    const stage = this.stages.get(key);
    let best = 0;
    for (const at of stage?.ofEntity(entity) ?? []) {
      const line = stage?.columns.lines[at] as number;
      if (line < from || line > to || !stage?.holdsForCall(at, call)) continue;
      best = Math.max(best, stage.columns.confidence[at] ?? 0);
    }
    return best;
  }

  /** Names of the entities of one kind that lines of a stage refer to, with at least this
   * certainty. */
  namesAt(key: string, first: number, last: number, kind: string, least = 1): string[] {
    const stage = this.stages.get(key);
    if (!stage) return [];
    const names = new Set<string>();
    const [from, to] = stage.ofLines(first, last);
    for (let at = from; at < to; at++) {
      if ((stage.columns.confidence[at] ?? 0) < least) continue;
      const name = this.entities[stage.columns.entities[at] as number] as string;
      if (name.startsWith(kind)) names.add(name);
    }
    return [...names];
  }

  /** Calls to which the references of a line to an entity are limited; includes `EVERY_CALL` if one
   * is not limited. */
  callsAt(key: string, line: number, entity: string): Set<number> {
    const stage = this.stages.get(key);
    const number = this.entity(entity);
    const calls = new Set<number>();
    if (!stage || number === null) return calls;
    const [from, to] = stage.ofLines(line, line);
    for (let at = from; at < to; at++) {
      if (stage.columns.entities[at] === number) calls.add(stage.columns.call[at] ?? EVERY_CALL);
    }
    return calls;
  }

  /** Lines of a stage that refer to anything, in order. */
  linkedLines(key: string): number[] {
    return [...new Set(this.stages.get(key)?.columns.lines ?? [])];
  }

  /** Lines of a stage that refer to an entity with at least this certainty, in order. */
  linesOf(key: string, entity: string, least = 1): number[] {
    const stage = this.stages.get(key);
    const number = this.entity(entity);
    if (!stage || number === null) return [];
    const lines = new Set<number>();
    for (const at of stage.ofEntity(number)) {
      if ((stage.columns.confidence[at] ?? 0) >= least)
        lines.add(stage.columns.lines[at] as number);
    }
    return [...lines];
  }

  /** Calls (as entities) to which the matches of this selection in a stage are limited. */
  callsOf(selected: Selected, key: string): Set<number> {
    const calls = new Set<number>();
    const stage = this.stages.get(key);
    if (!stage) return calls;
    for (const entity of selected.entities.keys()) {
      for (const at of stage.ofEntity(entity)) {
        const call = stage.columns.call[at] ?? EVERY_CALL;
        if (call !== EVERY_CALL) calls.add(call);
      }
    }
    return calls;
  }

  /** Names of the selection for the reader: FX nodes if there are any, otherwise other entities. */
  namesOf(selected: Selected): string[] {
    const all = [...selected.entities.keys()];
    if (selected.wholeKernel) all.length = Math.min(all.length, 1);
    const ofTier = (tier: number) => all.filter((entity) => this.tiers[entity] === tier);
    const best = [1, 0, 3, 2].map(ofTier).find((entities) => entities.length > 0) ?? [];
    return best.map((entity) => {
      const name = this.entities[entity] as string;
      return name.slice(name.indexOf(":") + 1);
    });
  }
}

interface Match {
  known: number;
  entity: number;
}

function packed(found: Map<number, Match>): Matches {
  const lines = Int32Array.from(found.keys()).sort();
  return {
    lines,
    known: Uint8Array.from(lines, (line) => found.get(line)?.known ?? 0),
    entities: Int32Array.from(lines, (line) => found.get(line)?.entity ?? 0),
  };
}

/** The matches between two lines, both included. */
export function within(matches: Matches, first: number, last: number): Matches {
  const from = lowerBound(matches.lines, first);
  const to = lowerBound(matches.lines, last + 1);
  return {
    lines: matches.lines.subarray(from, to),
    known: matches.known.subarray(from, to),
    entities: matches.entities.subarray(from, to),
  };
}

/** Whether a line is among the matches, and how it is known (0 if it is not). */
export function knownAt(matches: Matches, line: number): number {
  const at = lowerBound(matches.lines, line);
  return matches.lines[at] === line ? (matches.known[at] as number) : 0;
}

/** Position of the first match at or after a line; the number of matches if there is none. */
export function firstFrom(matches: Matches, line: number): number {
  return lowerBound(matches.lines, line);
}
