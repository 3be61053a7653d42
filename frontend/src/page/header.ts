// What every page has: theme, sharing, the search box, keys, and files that are dropped on it.

import { choose } from "../shared/choices";
import { startTheme } from "../shared/theme";
import { startUploads } from "../upload/panel";
import { startPalette } from "./palette";
import { startCopying } from "./share";

let started = false;

/** Start the header once, whichever entries of the bundle a page loads. */
export function startTop(): void {
  if (started) return;
  started = true;
  startTheme();
  startCopying();
  startPalette();
  startUploads();
  // On pages that are of no run, the search box leads to those of the last one.
  const run = /^\/runs\/(\w{16})/.exec(location.pathname)?.[1];
  if (run) choose("run", run);
}
