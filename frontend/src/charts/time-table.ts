// Entry of the long tables of times: the visible rows can be saved.
import { startTableDownloads } from "./download";

startTableDownloads();
