// Numbers as people read them: a unit on each, three figures, the same on every page.

const SPACE = "\u202f";

function threeFigures(value: number): string {
  const size = Math.abs(value);
  const places = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toFixed(places);
}

function scaled(value: number, steps: readonly [number, string][]): string {
  for (const [size, unit] of steps) {
    if (Math.abs(value) >= size * 0.9995) return `${threeFigures(value / size)}${SPACE}${unit}`;
  }
  const [size, unit] = steps[steps.length - 1] as [number, string];
  return value === 0 ? `0${SPACE}${unit}` : `${threeFigures(value / size)}${SPACE}${unit}`;
}

export function microseconds(value: number): string {
  return scaled(value, [
    [1e6, "s"],
    [1e3, "ms"],
    [1, "µs"],
  ]);
}

/** The unit of time that suits a whole axis, and how many microseconds it has. */
export function unitOfTime(most: number): { unit: string; size: number } {
  if (most >= 1e6) return { unit: "s", size: 1e6 };
  return most >= 1e3 ? { unit: "ms", size: 1e3 } : { unit: "µs", size: 1 };
}

export function bytes(value: number): string {
  if (value < 1024) return `${value}${SPACE}B`;
  return scaled(value, [
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ]);
}

/** A rate: `1.65 TB/s`, `2.06 TFLOP/s`. */
export function perSecond(value: number, unit: string): string {
  const steps: [number, string][] = ["T", "G", "M", "k"].map((prefix, at) => [
    10 ** (12 - 3 * at),
    `${prefix}${unit}/s`,
  ]);
  return scaled(value, steps);
}

/** A part of a whole, 0 to 1, in percent. */
export function share(value: number): string {
  const percent = value * 100;
  if (percent > 0 && percent < 0.1) return `<${SPACE}0.1${SPACE}%`;
  return `${percent >= 99.95 || percent === 0 ? percent.toFixed(0) : percent.toFixed(1)}${SPACE}%`;
}

/** A whole number. Without what the browser has for all languages, which takes ten milliseconds to load. */
function thousands(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

export function count(number: number, one: string, many: string = `${one}s`): string {
  return `${thousands(number)} ${number === 1 ? one : many}`;
}

/** How long ago, in the coarsest unit that says something. */
export function ago(then: Date, now: Date): string {
  const seconds = (now.getTime() - then.getTime()) / 1000;
  if (seconds < 45) return "just now";
  const steps: [number, string][] = [
    [31557600, "y"],
    [2629800, "mo"],
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ];
  for (const [size, unit] of steps) {
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  }
  return "1 min ago";
}
