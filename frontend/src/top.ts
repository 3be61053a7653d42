// What the head of every page holds: theme, sharing, the search box.
import { startSearch } from "./search";
import { startCopying } from "./share";
import { startTheme } from "./theme";

export function startTop(): void {
  startTheme();
  startCopying();
  startSearch();
}
