// The server's structs, under the explorer's names.
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
  /** The part of the run that is being read; null if the whole graph is here. */
  reading?: string | null;
}
