// The server's structs by the names that the explorer uses.
import type { Explorer } from "../shared/api";

export type {
  CallSite as KernelCall,
  Coverage,
  ExplorerKernel as Kernel,
  Links,
  StageFile,
  StageLinks as Columns,
  StageTexts as Stage,
} from "../shared/api";

export interface GraphPicture extends Explorer {
  /** What of the run is being read just now; null when all of the graph is here. */
  reading?: string | null;
}
