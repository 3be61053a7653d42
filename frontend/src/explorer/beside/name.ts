// What one side of the page shows, and its name in the address. Pure.

export interface Named {
  run: string;
  graph: string;
  stage: string;
  kernel: string;
}

export function nameOf({ run, graph, stage, kernel }: Named): string {
  const parts = [run, graph, stage, ...(stage === "kernel" && kernel ? [kernel] : [])];
  return parts.map(encodeURIComponent).join("/").replace(/%3A/g, ":");
}
