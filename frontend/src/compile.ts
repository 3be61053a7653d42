// Entry of the pages about compiling: phases over time, trees that filter, texts beside the list.
import { startFilters } from "./compile/filter";
import { startIcicles } from "./compile/icicle";
import { startViewer } from "./compile/viewer";

startIcicles();
startFilters();
startViewer();
