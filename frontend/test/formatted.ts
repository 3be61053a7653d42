// Formats figures from the input, for `tests/test_figures.py`, which compares them with the server's.
import { readFileSync } from "node:fs";
import { ago, bytes, microseconds, perSecond, share, spread } from "../src/shared/figures";

const NOW = new Date("2026-01-02T00:00:00Z");

function formatted(value: number): string[] {
  const then = new Date(NOW.getTime() - value * 1000);
  const age = Number.isNaN(then.getTime()) ? "" : ago(then, NOW);
  return [
    microseconds(value),
    bytes(value),
    share(value),
    perSecond(value, "B"),
    age,
    spread([value, 20, 30]),
  ];
}

const values = JSON.parse(readFileSync(0, "utf8")) as number[];
process.stdout.write(JSON.stringify(values.map(formatted)));
