// Numbers with their units, formatted like `inductorscope.units` on the server.

const SPACE = "\u202f";

function figure(value: number): string {
  const size = Math.abs(value);
  if (size >= 1000) return thousands(Math.round(value));
  const places = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toFixed(places);
}

export function microseconds(value: number): string {
  const size = Math.abs(value);
  const unit = (amount: number, name: string) => `${figure(amount)}${SPACE}${name}`;
  if (value === 0) return `0${SPACE}µs`;
  if (size < 0.1) return unit(value * 1e3, "ns");
  if (size < 999.5) return unit(value, "µs");
  if (size < 999.5e3) return unit(value / 1e3, "ms");
  if (size < 120e6) return unit(value / 1e6, "s");
  const seconds = Math.round(size / 1e6);
  return `${Math.floor(seconds / 60)}${SPACE}min ${seconds % 60}${SPACE}s`;
}

const APART = 1.5;

/** The shortest and the longest of several durations; their mean, if they are alike. */
export function spread(times: readonly number[]): string {
  const [least, most] = [Math.min(...times), Math.max(...times)];
  if (most > APART * least) return `${microseconds(least)} to ${microseconds(most)}`;
  return `${microseconds(times.reduce((sum, us) => sum + us, 0) / times.length)} each`;
}

/** The unit of time for a whole axis, and its number of microseconds. */
export function unitOfTime(most: number): { unit: string; size: number } {
  if (most >= 1e6) return { unit: "s", size: 1e6 };
  return most >= 1e3 ? { unit: "ms", size: 1e3 } : { unit: "µs", size: 1 };
}

const UNITS = ["KiB", "MiB", "GiB", "TiB"];

export function bytes(value: number): string {
  if (Math.abs(value) < 1024) return `${value.toFixed(0)}${SPACE}B`;
  let size = value / 1024;
  let at = 0;
  for (; Math.abs(size) >= 999.5 && at < UNITS.length - 1; at++) size /= 1024;
  return `${figure(size)}${SPACE}${UNITS[at]}`;
}

/** A rate: `1.65 TB/s`, `2.06 TFLOP/s`. */
export function perSecond(value: number, unit: string): string {
  const steps = [12, 9, 6, 3].map((power) => 10 ** power);
  const at = steps.findIndex((step) => Math.abs(value) >= step * 0.9995);
  const scaled = value === 0 ? "0" : figure(value / (steps[at] ?? 1));
  return `${scaled}${SPACE}${["T", "G", "M", "k"][at] ?? ""}${unit}/s`;
}

/** A share of a whole, 0 to 1, in percent. */
export function share(value: number): string {
  if (value === 0 || value === 1) return `${value * 100}${SPACE}%`;
  if (value > 0 && value < 0.001) return `<${SPACE}0.1${SPACE}%`;
  if (value >= 0.9995 && value < 1) return `>${SPACE}99.9${SPACE}%`;
  return `${(value * 100).toFixed(1)}${SPACE}%`;
}

/** The same without decimals, where space is short. */
export function percent(value: number): string {
  return value > 0 && value < 0.01 ? `<${SPACE}1${SPACE}%` : `${Math.round(value * 100)}${SPACE}%`;
}

/** A whole number. Avoids the browser's formatter for all languages, which takes ten milliseconds
 * to load. */
export function thousands(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, SPACE);
}

export function count(number: number, one: string, many: string = `${one}s`): string {
  return `${thousands(number)} ${number === 1 ? one : many}`;
}

const DAY = 86_400;
/** For each unit: the seconds up to which it is used, its seconds, and its name. */
const AGES: [number, number, string][] = [
  [3600, 60, "min"],
  [DAY, 3600, "h"],
  [14 * DAY, DAY, "day"],
  [60 * DAY, 7 * DAY, "week"],
  [730 * DAY, 30 * DAY, "month"],
  [Infinity, 365 * DAY, "year"],
];

/** How long ago, in the largest sensible unit. */
export function ago(then: Date, now: Date): string {
  const passed = (now.getTime() - then.getTime()) / 1000;
  if (passed < 60) return passed < 0 ? "now" : "just now";
  const [, size, unit] = AGES.find(([below]) => passed < below) as [number, number, string];
  const number = Math.floor(passed / size);
  const ending = number !== 1 && unit !== "min" && unit !== "h" ? "s" : "";
  return `${number} ${unit}${ending} ago`;
}
