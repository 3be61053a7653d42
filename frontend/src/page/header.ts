// The header of every page: theme, sharing, the search box.

import { startTheme } from "../shared/theme";
import { startSearch } from "./search";
import { startCopying } from "./share";

export function startTop(): void {
  startTheme();
  startCopying();
  startSearch();
}
