// What the time page carries for its charts.

export interface Timing {
  median_ms?: number;
  mean_ms?: number;
  p10?: number;
  p90?: number;
}

/** Part of a timeline; the parts sum to its span. */
export interface Part {
  name: string;
  us: number;
  share: number;
  idle: boolean;
}

export interface Group {
  group: string;
  eager_us: number;
  compiled_us: number;
}

/** A tile: a file, a line of it, or a kernel of that line. */
export interface Tile {
  id: string;
  parent: string;
  label: string;
  us: number;
  category: string | null;
}

export interface TimeData {
  eager_ms: number | null;
  compiled_ms: number | null;
  timings: Record<string, Timing>;
  /** Steps that the profile is the sum of. */
  steps: number;
  categories: { category: string; us: number; calls: number }[];
  timeline: { span_us: number; busy_us: number; parts: Part[] } | null;
  groups: Group[];
  map: Tile[];
}

export type Rows = (string | number)[][];

const WORDS: Record<string, string> = {
  cpp_fused: "C++ fused",
  triton_other: "Triton, other",
  user_triton: "your own Triton",
  extern_gemm: "library GEMM",
  extern_convolution: "library convolution",
  extern_attention: "library attention",
  extern_other: "library, other",
  overhead: "compiled code's overhead",
};

/** A kind of work as people write it. */
export function whatIs(category: string): string {
  return WORDS[category] ?? category.replace(/^triton_/, "Triton ").replaceAll("_", " ");
}
