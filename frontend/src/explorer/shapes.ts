// The server's structs, under the explorer's names.
import type { Explorer, Links as LinksOfApi, StageLinks } from "../shared/api";

export type {
  CallSite as KernelCall,
  Coverage,
  ExplorerKernel as Kernel,
  StageFile,
  StageTexts as Stage,
} from "../shared/api";

/** References of a stage. What a page works out itself is of the text it shows, without a digest. */
export type Columns = Omit<StageLinks, "digest"> & { digest?: string };

export type Links = Omit<LinksOfApi, "stages"> & { stages: Record<string, Columns> };

export interface GraphPicture extends Explorer {
  /** The part of the run that is being read; null if the whole graph is here. */
  reading?: string | null;
}
