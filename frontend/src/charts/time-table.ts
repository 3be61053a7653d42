// Entry of the long tables of times: the rows shown can be saved.
import { startTableDownloads } from "./download";

startTableDownloads();
