// Entry of the pages about compiling: phases over time, trees that filter, texts beside the list.
import { startFilters, startFolding } from "./compile/filter";
import { startIcicles } from "./compile/icicle";
import { startViewer } from "./compile/viewer";
import { startWatching } from "./compile/watch";

function start(): void {
  startIcicles();
  startFilters();
  startFolding();
  startViewer();
}

start();
startWatching(start);
