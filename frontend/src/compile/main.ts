// Entry of the pages about compiling: phases over time, filtered trees, texts next to the list.
import { startFilters, startFolding } from "./filter";
import { startIcicles } from "./icicle";
import { startViewer } from "./viewer";
import { startWatching } from "./watch";

function start(): void {
  startIcicles();
  startFilters();
  startFolding();
  startViewer();
}

start();
startWatching(start);
