// What the server answers with, as the explorer reads it.

export interface StageFile {
  artifact: number;
  path: string;
  lines: number | null;
  first: number;
  last: number | null;
  derived: boolean;
}

export interface Stage {
  id: string;
  title: string;
  language: string;
  files: StageFile[];
}

export interface KernelCall {
  handle: number;
  line: number;
  permalink: string;
  fx: string[];
}

export interface Kernel {
  name: string;
  kind: string;
  category: string;
  first: number | null;
  last: number | null;
  time_us: number | null;
  share: number | null;
  time_source: string | null;
  calls: KernelCall[];
}

export interface Coverage {
  lines: number;
  lines_exact: number;
  lines_inferred: number;
  lines_kernel: number;
  nodes: number;
  nodes_exact: number;
  nodes_inferred: number;
  nodes_kernel: number;
}

export interface GraphPicture {
  run: { id: string; name: string };
  graph: { slug: string; name: string; direction: string; node_count: number };
  stages: Stage[];
  kernels: Kernel[];
  graph_time_us: number | null;
  coverage: Partial<Coverage>;
  notes: string[];
  /** Whether the lines of its kernels are still to be aligned. */
  aligning: boolean;
  /** What of the run is being read just now; null when all of the graph is here. */
  reading?: string | null;
}

/** References of one stage: parallel columns, sorted by line. */
export interface Columns {
  lines: number[];
  entities: number[];
  confidence: number[];
  call: number[];
}

export interface Links {
  engine: string;
  entities: string[];
  stages: Record<string, Columns>;
}
