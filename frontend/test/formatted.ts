// Formats figures from the input, for `tests/test_figures.py`, which compares them with the server's.
import { readFileSync } from "node:fs";
import { bytes, microseconds, perSecond, share } from "../src/shared/figures";

const values = JSON.parse(readFileSync(0, "utf8")) as number[];
process.stdout.write(
  JSON.stringify(
    values.map((value) => [microseconds(value), bytes(value), share(value), perSecond(value, "B")]),
  ),
);
